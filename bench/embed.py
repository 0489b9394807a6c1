"""rer embed beside the engine alone and beside transformers + torch, on the same cores; and its memory for many files.

    python bench/embed.py --rer build/cli/rer [pictures] [texts] [memory]

The Python needs scripts/requirements-transformers.txt. The encoders are of the shape that docs/embedding.md recommends:
DINOv2-B (random weights: speed is the same) for pictures, all-MiniLM-L6-v2 for texts. Each way runs in turn, several
times, and its best counts. Two rates are shown: by the clock, which means something on an idle machine only, and by the
time of the processor, which others' work disturbs less."""
import argparse
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
from PIL import Image

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[0] = os.path.join(HERE, "..", "tests", "embed")  # not this folder: its cuda.py would hide torch's
from real_encoders import minilm, save_minilm, save_torch  # noqa: E402

BATCH = 16


def children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Watch:
    """Seconds by the clock and of the processor, children included."""

    def __init__(self):
        self.start = time.monotonic(), time.process_time() + children()

    def seconds(self):
        return np.array([time.monotonic() - self.start[0], time.process_time() + children() - self.start[1]])


def run(rer, *arguments):
    environment = os.environ | {"PATH": os.path.dirname(sys.executable) + ":" + os.environ["PATH"]}
    watch = Watch()
    subprocess.run([rer, *map(str, arguments)], env=environment, check=True, capture_output=True)
    return watch.seconds()


def best(ways, repeats):
    """Rows a second of each way, by both: the best of several turns."""
    rates = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            rates[name].append(way())
    return {name: np.max(values, axis=0) for name, values in rates.items()}


def show(title, rates):
    print(f"\n{title}")
    print(f"  {'':32} {'rows/s':>8} {'rer over it':>12} {'rows a processor second':>24} {'rer over it':>12}")
    for name, rate in rates.items():
        ratio = rates["rer embed"] / rate
        print(f"  {name:32} {rate[0]:8.1f} {ratio[0]:12.2f} {rate[1]:24.2f} {ratio[1]:12.2f}", flush=True)


def rate_of(rer, few, many, more, *arguments):
    """From two runs, so that opening the model does not count."""
    seconds = [run(rer, "embed", path, *arguments, "--out", path + ".npy") for path in (few, many)]
    return more / np.maximum(1e-9, seconds[1] - seconds[0])


# ---- pictures --------------------------------------------------------------------------------------

def draw(folder, count):
    """JPEG files of 500 x 375, as those of ImageNet are."""
    numbers = np.random.default_rng(0)
    os.makedirs(os.path.join(folder, "a"))
    y, x = np.mgrid[:375, :500]
    for i in range(count):
        waves = 127 + 90 * np.sin(x / numbers.uniform(4, 40) + y / numbers.uniform(4, 40))[..., None] * numbers.normal(size=3)
        pixels = np.clip(waves + numbers.normal(0, 8, (375, 500, 3)), 0, 255).astype("u1")
        Image.fromarray(pixels).save(os.path.join(folder, "a", f"{i:05}.jpg"), quality=90)


def engine_alone(model, shape, threads, count):
    """OpenVINO on tensors that are there already."""
    import openvino
    core = openvino.Core()
    read = core.read_model(model)
    read.reshape(shape)
    compiled = core.compile_model(read, "CPU", {"NUM_STREAMS": threads, "INFERENCE_NUM_THREADS": threads,
                                                "INFERENCE_PRECISION_HINT": "f32"})
    tensor = np.random.default_rng(0).normal(size=shape).astype("f4")

    def way():
        queue = openvino.AsyncInferQueue(compiled, threads)
        for warm in (True, False):
            watch = Watch()
            for _ in range(threads if warm else count // shape[0]):
                queue.start_async([tensor])
            queue.wait_all()
        return count / watch.seconds()

    return way


def torch_pictures(model, processor, folder, threads):
    import torch
    torch.set_num_threads(threads)
    files = sorted(os.path.join(folder, "a", name) for name in os.listdir(os.path.join(folder, "a")))

    class Files(torch.utils.data.Dataset):
        def __len__(self):
            return len(files)

        def __getitem__(self, place):
            return processor(Image.open(files[place]).convert("RGB"), return_tensors="pt")["pixel_values"][0]

    def way():
        loader = torch.utils.data.DataLoader(Files(), batch_size=BATCH, num_workers=1)
        watch = Watch()
        with torch.inference_mode():
            for batch in loader:
                model(pixel_values=batch).last_hidden_state[:, 0].half().numpy()
        return len(files) / watch.seconds()

    return way


def pictures(rer, folder, threads, repeats, count):
    import transformers
    settings = transformers.Dinov2Config(hidden_size=768, num_hidden_layers=12, num_attention_heads=12, image_size=518)
    model = transformers.Dinov2Model(settings).eval()
    processor = transformers.BitImageProcessor(size={"shortest_edge": 256}, crop_size={"height": 224, "width": 224}, resample=3,
                                               image_mean=[.485, .456, .406], image_std=[.229, .224, .225])
    save_torch(model, os.path.join(folder, "dinov2"), processor.to_dict(), "dinov2", 224)
    few, many = os.path.join(folder, "few"), os.path.join(folder, "many")
    draw(few, BATCH)
    draw(many, BATCH + count)
    ways = {"rer embed": lambda: rate_of(rer, few, many, count, "--model", os.path.join(folder, "dinov2"), "--threads", threads),
            "OpenVINO, preloaded tensors": engine_alone(os.path.join(folder, "dinov2", "openvino_model.xml"),
                                                        [BATCH, 3, 224, 224], threads, count),
            "transformers + torch": torch_pictures(model, processor, many, threads)}
    show(f"{count} JPEG files of 500 x 375 through DINOv2-B, {threads} threads", best(ways, repeats))


# ---- texts -----------------------------------------------------------------------------------------

def texts(rer, folder, threads, repeats, count):
    import torch
    import transformers
    torch.set_num_threads(threads)
    save_minilm(os.path.join(folder, "minilm"))
    chosen = random.Random(0)
    words = "the film was good bad very not great awful story music actor long short and but with of".split()
    lines = [" ".join(chosen.choices(words, k=chosen.randint(5, 60))) for _ in range(count + 512)]
    for name, some in (("few.txt", lines[:512]), ("many.txt", lines)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            print(*some, sep="\n", file=file)
    tokenizer, model = transformers.AutoTokenizer.from_pretrained(minilm()), transformers.AutoModel.from_pretrained(minilm()).eval()

    def by_torch():
        watch = Watch()
        ordered = sorted(lines[:count], key=len)  # as sentence-transformers does
        with torch.inference_mode():
            for at in range(0, count, 32):
                batch = tokenizer(ordered[at:at + 32], padding=True, truncation=True, max_length=256, return_tensors="pt")
                mask = batch["attention_mask"][..., None]
                ((model(**batch).last_hidden_state * mask).sum(1) / mask.sum(1)).half().numpy()
        return count / watch.seconds()

    ways = {"rer embed": lambda: rate_of(rer, os.path.join(folder, "few.txt"), os.path.join(folder, "many.txt"), count, "--model",
                                         os.path.join(folder, "minilm"), "--threads", threads),
            "transformers + torch": by_torch}
    show(f"{count} texts of 5 to 60 words through all-MiniLM-L6-v2, {threads} threads", best(ways, repeats))


# ---- memory ----------------------------------------------------------------------------------------

# A process begins with the size of the one that starts it, and this one is large: a small one in between.
MEASURE = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); " \
          "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"


def peak(*command):
    """Largest resident size, MiB, and seconds."""
    environment = os.environ | {"PATH": os.path.dirname(sys.executable) + ":" + os.environ["PATH"]}
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-I", "-c", MEASURE, *map(str, command)], env=environment, check=True,
                          stdout=subprocess.PIPE)
    return int(done.stdout) / 1024, time.monotonic() - start


def memory(rer, folder, threads, count):
    import transformers
    settings = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic")
    processor = {"size": {"height": 32, "width": 32}, "resample": 2}
    save_torch(transformers.ResNetModel(settings).eval(), os.path.join(folder, "net"), processor, "resnet", 32)
    picture = os.path.join(folder, "picture.jpg")
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (48, 64, 3), dtype=np.uint8)).save(picture)
    print(f"\npeak memory of rer embed, small pictures through a small model, {threads} threads")
    for files in (1000, count):
        root = os.path.join(folder, f"files{files}")
        for part in range(0, files, 1000):
            os.makedirs(os.path.join(root, f"{part:06}"))
            first = shutil.copy(picture, os.path.join(root, f"{part:06}", f"{part:06}.jpg"))
            for i in range(part + 1, min(files, part + 1000)):
                os.link(first, os.path.join(root, f"{part:06}", f"{i:06}.jpg"))  # of one file there may be 65,000
        most, seconds = peak(rer, "embed", root, "--model", os.path.join(folder, "net"), "--out", root + ".npy", "--threads", threads)
        print(f"  {files:8,} files: {most:7.0f} MiB, {files / seconds:7.0f} rows/s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["pictures", "texts", "memory"], help="of pictures, texts, memory")
    parser.add_argument("--rer", default=os.path.join(HERE, "..", "build", "cli", "rer"))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--pictures", type=int, default=160)
    parser.add_argument("--texts", type=int, default=4096)
    parser.add_argument("--files", type=int, default=200_000)
    arguments = parser.parse_args()
    rer = os.path.abspath(arguments.rer)
    with tempfile.TemporaryDirectory(prefix="rer-bench-") as folder:
        if "pictures" in arguments.parts:
            pictures(rer, folder, arguments.threads, arguments.repeats, arguments.pictures)
        if "texts" in arguments.parts:
            texts(rer, folder, arguments.threads, arguments.repeats, arguments.texts)
        if "memory" in arguments.parts:
            memory(rer, folder, arguments.threads, arguments.files)


if __name__ == "__main__":
    main()
