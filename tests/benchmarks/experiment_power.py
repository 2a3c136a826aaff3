"""How often an experiment calls a difference where there is none, and how often it sees a step that does 5 % more work.

    python tests/benchmarks/experiment_power.py --collect RUNS.jsonl --program decompression --rounds 8
    python tests/benchmarks/experiment_power.py RUNS.jsonl

Three small programs on the CPU. A round runs four times the program as it is and two times with 5 % more work in every step
(21 turns of a loop instead of 20), each in a process of its own, in random order. Experiments are made of disjoint rounds:
two A/A a block of rounds, and two of A against what does more. Nothing is drawn twice and no duration is multiplied.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path

PROGRAMS = ("decompression", "matrix products", "training")
WARM_UP, STEPS = 5, 40
TURNS, MORE = 20, 21
CLOCKS = {"wall": time.perf_counter_ns, "processor": time.process_time_ns}
ROUND = (TURNS, TURNS, TURNS, TURNS, MORE, MORE)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="?")
    parser.add_argument("--collect", type=Path, metavar="FILE", help="run programs and append what they took to FILE")
    parser.add_argument("--program", choices=PROGRAMS, default=PROGRAMS[0])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--run", nargs=2, metavar=("PROGRAM", "TURNS"), help="one run: prints its steps, ns")
    asked = parser.parse_args()
    if asked.run:
        print(json.dumps(durations(asked.run[0], int(asked.run[1]))))
    elif asked.collect:
        collect(asked.collect, asked.program, asked.rounds)


def durations(program: str, turns: int) -> dict[str, list[int]]:
    """Run the program: ns of each step after the warm-up, by the clock and of the processor."""
    turn = {"decompression": decompression, "matrix products": products, "training": training}[program]()
    steps: dict[str, list[int]] = {name: [] for name in CLOCKS}
    for step in range(WARM_UP + STEPS):
        begins = [clock() for clock in CLOCKS.values()]
        for number in range(turns):
            turn(step * turns + number)
        for (name, clock), begin in zip(CLOCKS.items(), begins, strict=True):
            steps[name].append(clock() - begin)
    return {name: each[WARM_UP:] for name, each in steps.items()}


def decompression() -> Callable[[int], object]:
    """A loader's work: samples are unpacked and added up."""
    import numpy as np

    numbers = np.random.default_rng(0)
    packed = [zlib.compress((10 * numbers.standard_normal(20_000)).astype(np.int8).tobytes()) for _ in range(64)]

    def turn(number: int) -> object:
        return sum(
            np.frombuffer(zlib.decompress(packed[(number * 2 + place) % 64]), np.int8).sum() for place in range(2)
        )

    return turn


def products() -> Callable[[int], object]:
    """Matrix products, one thread."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    import numpy as np

    left, right = np.random.default_rng(0).standard_normal((2, 224, 224))
    return lambda _: left @ right


def training() -> Callable[[int], object]:
    """Small batches through a small model, one thread."""
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(*(each for _ in range(3) for each in (torch.nn.Linear(64, 64), torch.nn.ReLU())))
    optimizer = torch.optim.SGD(model.parameters(), 1e-4)
    samples = torch.randn(32, 64)

    def turn(_: int) -> object:
        optimizer.zero_grad()
        model(samples).square().mean().backward()
        return optimizer.step()

    return turn


def collect(file: Path, program: str, rounds: int) -> None:
    """Append a line for each round: the turns of each run in the order in which they ran, and its steps."""
    for _ in range(rounds):
        order = list(ROUND)
        random.shuffle(order)
        runs = [(turns, json.loads(run(program, turns))) for turns in order]
        with file.open("a", encoding="utf-8") as out:
            out.write(json.dumps({"program": program, "runs": runs}) + "\n")


def run(program: str, turns: int) -> str:
    """What a process of its own prints."""
    command = [sys.executable, __file__, "--run", program, str(turns)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
