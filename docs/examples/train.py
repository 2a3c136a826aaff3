"""A small training script, on a GPU or the CPU; the lines marked `# traceq` are what it takes to see it in a profiler.

python docs/examples/train.py                     # trains; the marks cost next to nothing
python docs/examples/train.py --trace traces      # the same, with the profiler on a few steps
traceq record -- python docs/examples/train.py    # the same, without --trace
"""

from __future__ import annotations

import argparse
import json
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

import traceq  # traceq
from traceq import annotate  # traceq

FEATURES, CLASSES = 256, 10


class Samples(Dataset):
    """Noise whose class depends on its first features; making one takes as long as decoding a small picture."""

    def __init__(self, count: int, transform_ms: float) -> None:
        self.count = count
        self.transform_ms = transform_ms

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        end = time.perf_counter() + self.transform_ms / 1000
        sample = torch.randn(FEATURES, generator=torch.Generator().manual_seed(index))
        while time.perf_counter() < end:
            pass
        return sample, int(sample[:CLASSES].argmax())


def network() -> nn.Sequential:
    """Build a perceptron with two hidden layers."""
    return nn.Sequential(nn.Linear(FEATURES, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, CLASSES))


def train(options: argparse.Namespace) -> dict[str, float]:
    """Train for so many steps; what the script itself measured, in seconds and samples per second."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = network().to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    samples = Samples(options.steps * options.batch, options.transform_ms)
    batches = annotate.loader(DataLoader(samples, options.batch, num_workers=options.workers))  # traceq
    annotate.optimizer(optimizer)  # traceq
    with traceq.profile(options.trace) as run:  # traceq
        begin = end = time.perf_counter()
        fetching = 0.0
        for inputs, classes in batches:
            fetching += time.perf_counter() - end
            with run.step(samples=len(inputs)):  # traceq
                with annotate.phase("forward"):  # traceq
                    loss = nn.functional.cross_entropy(model(inputs.to(device)), classes.to(device))
                with annotate.phase("backward"):  # traceq
                    loss.backward()
                optimizer.step()
                optimizer.zero_grad()
            end = time.perf_counter()
    return {
        "step_s": (end - begin) / options.steps,
        "fetch_s": fetching / options.steps,
        "samples_per_s": options.steps * options.batch / (end - begin),
    }


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--workers", type=int, default=0, help="processes that load data")
    parser.add_argument("--transform-ms", type=float, default=0.2, help="work per sample in the loader")
    parser.add_argument("--trace", metavar="DIR", help="profile a few steps, and write the trace there")
    print(json.dumps(train(parser.parse_args())))  # noqa: T201


if __name__ == "__main__":
    main()
