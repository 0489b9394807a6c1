"""The closed form in PyTorch on the same card: class sums, scatter, Cholesky, all distances, own and best other.
    cuda.py [N D C]
    cuda.py networks
    cuda.py detectors
Medians of 5 after one to warm up, rows in the card's memory and in pinned memory. And the 10 nearest of a million rows,
by a product and topk: of NEAR_ROWS at a time, SOME_BLOCKS of them, as if for all. Detectors: the pairs of such rows within a degree, each once, by
a product and a comparison, and one evaluation of five logistic regressions, each of four fifths of the rows."""
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


def near_pairs(rows):
    """Seconds for every pair once, from some of them."""
    def run():
        for block in range(SOME_BLOCKS):
            (rows[block * NEAR_ROWS : (block + 1) * NEAR_ROWS] @ rows.T > .99985).nonzero()
        torch.cuda.synchronize()

    run()
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * NEAR_N / (NEAR_ROWS * SOME_BLOCKS) / 2


def evaluate(x, y, w, b, step=16384):
    """Losses and gradients of regressions w [5, C, D], of which the f-th does not see the f-th fifth of the rows."""
    fold = N // 5
    gradient = torch.zeros(5, C, D, device="cuda")
    loss = torch.zeros(5, device="cuda")
    for f in range(5):
        others = [k for k in range(5) if k != f]
        for first in range(f * fold, (f + 1) * fold, step):
            rows, labels = x[first : min(first + step, (f + 1) * fold)], y[first : min(first + step, (f + 1) * fold)]
            z = torch.addmm(b[others].flatten(), rows, w[others].flatten(0, 1).T).view(len(rows), 4, C)
            logs = torch.log_softmax(z, 2)
            at = labels.view(-1, 1, 1).expand(-1, 4, 1)
            loss[others] -= logs.gather(2, at).sum((0, 2))
            p = logs.exp_().scatter_add_(2, at, torch.full_like(at, -1, dtype=torch.float32))
            gradient[others] += (p.flatten(1).T @ rows).view(4, C, D)
    return loss.cpu(), gradient.cpu()


def compare_detectors():
    rows = torch.randn(NEAR_N, NEAR_D, device="cuda")
    rows /= rows.norm(dim=1, keepdim=True)
    for name, allow, x in (("float32", False, rows), ("TF32", True, rows), ("half", True, rows.half())):
        torch.backends.cuda.matmul.allow_tf32 = allow
        print(f"PyTorch {name}: pairs of {NEAR_N} x {NEAR_D} within a degree {near_pairs(x):.2f} s")
    del rows
    x, y = torch.randn(N, D, device="cuda"), torch.randint(C, (N,), device="cuda")
    x /= x.norm(dim=1, keepdim=True)
    w, b = 3 * torch.randn(5, C, D, device="cuda"), torch.randn(5, C, device="cuda")
    for name, allow in (("float32", False), ("TF32", True)):
        torch.backends.cuda.matmul.allow_tf32 = allow
        print(f"PyTorch {name}: an evaluation of 5 regressions, {N} x {D}, {C} classes: "
              f"{time_steps(lambda: evaluate(x, y, w, b), 5, 1):.3f} s")


def time_steps(step, count, warm_up=5):
    for _ in range(warm_up):
        step()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / count


def make_networks(dtype):
    sizes = [D, 256, 10, 256, D]
    weights = [(torch.randn(C, a, b, device="cuda") * .05).to(dtype) for a, b in zip(sizes, sizes[1:])]
    return weights, [torch.zeros(C, 1, b, device="cuda", dtype=dtype) for b in sizes[1:]]


def forward(x, weights, biases):
    h = torch.relu(torch.baddbmm(biases[0], x, weights[0]))
    z = torch.baddbmm(biases[1], h, weights[1])
    return z


def decode(z, weights, biases):
    g = torch.relu(torch.baddbmm(biases[2], z, weights[2]))
    return torch.sigmoid(torch.baddbmm(biases[3], g, weights[3]))


def sweep_networks(dtype, rows=2048):
    """Seconds for all rows, from some of them."""
    weights, biases = make_networks(dtype)
    x = torch.rand(rows, D, device="cuda", dtype=dtype)

    def step():
        for c in range(0, C, 100):
            w, b = [v[c : c + 100] for v in weights], [v[c : c + 100] for v in biases]
            every = x.expand(len(w[0]), rows, D)
            ((decode(forward(every, w, b), w, b) - every).float() ** 2).sum(2)

    with torch.no_grad():
        return time_steps(step, 5) * N / rows


def train_networks(fused, batch=64, negatives=5):
    """Seconds of a step of all classes' networks."""
    weights, biases = make_networks(torch.float32)
    parameters = [p.requires_grad_() for p in weights + biases]
    adam = torch.optim.Adam(parameters, lr=1e-3, eps=1e-7, fused=fused)
    rows = torch.rand(1281, D, device="cuda")
    a, b = 1e-6, 4

    def step():
        x = rows[torch.randint(1281, (C, 2 * batch), device="cuda")]
        order = torch.randint(batch, (C, batch * negatives), device="cuda") + batch
        h = torch.nn.functional.dropout(torch.relu(torch.baddbmm(biases[0], x, weights[0])), .01)
        z = torch.baddbmm(biases[1], h, weights[1])
        heads, tails = z[:, :batch], z[:, batch:]
        g = torch.nn.functional.dropout(torch.relu(torch.baddbmm(biases[2], heads, weights[2])), .01)
        y = torch.sigmoid(torch.baddbmm(biases[3], g, weights[3]))
        pulled = torch.log(2 + a * ((heads - tails) ** 2).sum(2) ** b)
        away = z.gather(1, order.unsqueeze(2).expand(-1, -1, z.shape[2]))
        u = a * ((heads.repeat_interleave(negatives, 1) - away) ** 2).sum(2) ** b
        pushed = torch.log1p(1 / (1 + u))
        loss = 20 * ((y - x[:, :batch]) ** 2).mean((1, 2)) + (pulled.sum(1) + pushed.sum(1)) / (batch * (1 + negatives))
        loss = loss + 1e-6 * sum((w * w).sum((1, 2)) for w in weights[:3])
        adam.zero_grad(set_to_none=True)
        loss.sum().backward()
        torch.nn.utils.clip_grad_value_(parameters, 4)
        adam.step()

    return time_steps(step, 30)


def compare_networks():
    for name, allow in (("float32", False), ("TF32", True)):
        torch.backends.cuda.matmul.allow_tf32 = allow
        for fused in (False, True):
            print(f"PyTorch {name}: a step of {C} networks, Adam {'fused' if fused else 'as it comes'}: "
                  f"{1e3 * train_networks(fused):.2f} ms")
    print(f"PyTorch bfloat16: sweep {sweep_networks(torch.bfloat16):.2f} s")
    torch.backends.cuda.matmul.allow_tf32 = True
    print(f"PyTorch TF32: sweep {sweep_networks(torch.float32):.2f} s")


def main():
    if sys.argv[1:] == ["networks"]:
        compare_networks()
        return
    if sys.argv[1:] == ["detectors"]:
        compare_detectors()
        return
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
