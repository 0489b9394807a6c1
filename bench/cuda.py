"""The closed form in PyTorch on the same card: class sums, scatter, Cholesky, all distances, own and best other.
    cuda.py [N D C]
Medians of 5 after one to warm up, rows in the card's memory and in pinned memory. And the 10 nearest of a million rows,
by a product and topk: of NEAR_ROWS at a time, SOME_BLOCKS of them, as if for all."""
import statistics
import sys
import time

import torch

N, D, C = (int(n) for n in sys.argv[1:4]) if len(sys.argv) > 3 else (1281167, 512, 1000)
STEP = 65536
NEAR_N, NEAR_D, NEAR_ROWS, SOME_BLOCKS = 1_000_000, 512, 2048, 4


def closed_form(rows, labels):
    x = rows.to("cuda", non_blocking=True)
    n = torch.bincount(labels, minlength=C).clamp(min=1).unsqueeze(1)
    means = torch.zeros(C, D, device="cuda").index_add_(0, labels, x) / n
    scatter = torch.zeros(D, D, device="cuda")
    for first in range(0, N, STEP):
        r = x[first : first + STEP] - means[labels[first : first + STEP]]
        scatter += r.T @ r
    covariance = .8 * scatter / (N - C)
    covariance += .2 * covariance.diagonal().mean() * torch.eye(D, device="cuda")
    root = torch.linalg.inv(torch.linalg.cholesky(covariance))
    u = means @ root.T
    norm = (u * u).sum(1)
    own, other = torch.empty(N, device="cuda"), torch.empty(N, device="cuda")
    for first in range(0, N, STEP):
        t = x[first : first + STEP] @ root.T
        d2 = (t * t).sum(1, keepdim=True) - 2 * t @ u.T + norm
        y = labels[first : first + STEP].unsqueeze(1)
        own[first : first + STEP] = d2.gather(1, y).squeeze(1)
        other[first : first + STEP] = d2.scatter(1, y, float("inf")).amin(1)
    torch.cuda.synchronize()
    return own, other


def measure(rows, labels):
    times = []
    for turn in range(6):
        start = time.perf_counter()
        closed_form(rows, labels)
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def nearest(rows):
    def run():
        for block in range(SOME_BLOCKS):
            (rows[block * NEAR_ROWS : (block + 1) * NEAR_ROWS] @ rows.T).topk(10, dim=1)
        torch.cuda.synchronize()

    run()
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * NEAR_N / (NEAR_ROWS * SOME_BLOCKS)


def compare_nearest():
    rows = torch.randn(NEAR_N, NEAR_D, device="cuda")
    rows /= rows.norm(dim=1, keepdim=True)
    for name, allow, x in (("float32", False, rows), ("TF32", True, rows), ("half", True, rows.half())):
        torch.backends.cuda.matmul.allow_tf32 = allow
        print(f"PyTorch {name}: 10 nearest of {NEAR_N} x {NEAR_D} {nearest(x):.2f} s")


def main():
    labels = torch.randint(C, (N,), device="cuda")
    rows = torch.randn(N, D, device="cuda")
    pinned = rows.cpu().pin_memory()
    for name, allow in (("float32", False), ("TF32", True)):
        torch.backends.cuda.matmul.allow_tf32 = allow
        print(f"PyTorch {torch.__version__} {name}: card {measure(rows, labels):.4f} s, pinned {measure(pinned, labels):.4f} s")
    del labels, rows, pinned
    compare_nearest()


if __name__ == "__main__":
    main()
