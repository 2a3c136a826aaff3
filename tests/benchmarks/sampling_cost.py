"""How much longer programs take while traceq samples their stacks: three programs, with and without in turns.

    python tests/benchmarks/sampling_cost.py [--pairs 20]

Arithmetic of Python alone, small operators of PyTorch, and JSON below 60 calls. For each, the median of the pairs' ratios: of the
thread's CPU time, which other programs change little, of the process's, and by the clock.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import torch

from traceq.capture.stack_sampler import StackSampler

CLOCKS = {"of the thread": time.thread_time, "of the process": time.process_time, "by the clock": time.perf_counter}
MODEL = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(40)])
DATA = torch.randn(32, 64)


def add_numbers() -> None:
    """Compute in Python alone."""
    total = 0
    for number in range(400_000):
        total += number * number % 7


def run_operators() -> None:
    """Run 12 passes of 40 small layers, forward and backward."""
    for _ in range(12):
        MODEL(DATA).sum().backward()


def encode_deeply(depth: int = 60) -> None:
    """Encode lists as JSON below `depth` calls, eight times."""
    for _ in range(8 if depth == 60 else 1):
        if depth:
            encode_deeply(depth - 1)
        else:
            json.dumps([list(range(2000))] * 20)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for program in (add_numbers, run_operators, encode_deeply):
        program()
        pairs = [measure_pair(program, is_sampled_first=number % 2 == 0) for number in range(options.pairs)]
        ratios = {name: [sampled[name] / plain[name] for plain, sampled in pairs] for name in CLOCKS}
        told = ", ".join(f"{statistics.median(each) - 1:+.1%} {name}" for name, each in ratios.items())
        print(f"{program.__name__}: {told}", flush=True)


def measure_pair(program: Callable[[], None], *, is_sampled_first: bool) -> tuple[dict[str, float], dict[str, float]]:
    """Return the times (s) of a run without samples and of one with, by clock."""
    found = {
        is_sampled: measure(program, is_sampled=is_sampled) for is_sampled in (is_sampled_first, not is_sampled_first)
    }
    return found[False], found[True]


def measure(program: Callable[[], None], *, is_sampled: bool) -> dict[str, float]:
    """Return the times (s) of 60 calls, by clock; starting and ending the sampler does not count."""
    sampler = StackSampler()
    if is_sampled:
        sampler.begin_sampling()
    begins = {name: clock() for name, clock in CLOCKS.items()}
    for _ in range(60):
        program()
    taken = {name: clock() - begins[name] for name, clock in CLOCKS.items()}
    sampler.end_sampling()
    return taken


if __name__ == "__main__":
    main()
