"""How often an experiment calls a difference where there is none, and how often it sees a step that does 5 % more work.

    python tests/benchmarks/experiment_power.py --collect RUNS.jsonl --program decompression --rounds 8
    python tests/benchmarks/experiment_power.py RUNS.jsonl

Three small programs on the CPU. A round runs four times the program as it is and two times with 5 % more work in every step
(21 turns of a loop instead of 20), each in a process of its own, in random order. Experiments are made of disjoint rounds: three
A/A a block of rounds, and two of A against what does more. Nothing is drawn twice and no duration is multiplied. Steps are
timed by the clock and by the processor's time, which other programs on the machine disturb little: what runs of a quiet machine
differ by.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import random
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

if "--run" not in sys.argv:  # what runs is only the program
    import numpy as np

    from traceq.runs.statistics import typical_step
    from traceq.runs.trials.paired import judge_differences, mean_of
    from traceq.runs.trials.results import ResultTable, results_of
    from traceq.runs.trials.study_experiment import LEAST
    from traceq.runs.trials.trial import BASELINE, Setting, Trial

PROGRAMS = ("decompression", "matrix products", "training")
WARM_UP, STEPS = 5, 40
EXPERIMENTS = 2_000
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
    elif asked.runs:
        from_runs(read(asked.runs))
        by_noise()


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


Round = dict[str, Any]
Steps = dict[str, list[int]]


def read(file: Path) -> dict[str, list[Round]]:
    """The rounds of each program, in the order in which they ran."""
    rounds: dict[str, list[Round]] = {}
    for line in file.read_text("utf-8").splitlines():
        found = json.loads(line)
        same = [steps for turns, steps in found["runs"] if turns == TURNS]
        more = [steps for turns, steps in found["runs"] if turns == MORE]
        rounds.setdefault(found["program"], []).append({"same": same, "more": more})
    return rounds


def from_runs(programs: dict[str, list[Round]]) -> None:
    """Print how many experiments of real runs call a difference, by clock, number of rounds and number of steps."""
    for clock in CLOCKS:
        for program, rounds in programs.items():
            within = [np.log([center(each[clock]) for each in one["same"]]).std(ddof=1) for one in rounds]
            noise = math.sqrt(np.mean(np.square(within)))
            effect = np.mean([np.log([center(each[clock]) for each in one["more"]]).mean() for one in rounds])
            effect -= np.mean([np.log([center(each[clock]) for each in one["same"]]).mean() for one in rounds])
            print(
                f"{clock}, {program}: {len(rounds)} rounds, noise {noise:.1%}, more work is {math.expm1(effect):+.1%}"
            )
        print(
            f"{clock}: rounds x steps: A/A called different, of A/A; more work called worse; of three settings any A/A; that"
        )
        for count, steps in itertools.product((5, 7, 9), (10, 20, 40)):
            blocks = [
                rounds[begin : begin + count]
                for rounds in programs.values()
                for begin in range(0, len(rounds) - count + 1, count)
            ]
            print(f"  {count} x {steps}: {', '.join(rates(blocks, clock, steps))}")


def center(steps: Sequence[int]) -> float:
    """The typical step."""
    return float(typical_step(np.array(steps, dtype=np.float64)))


def rates(blocks: Sequence[Sequence[Round]], clock: str, steps: int) -> Iterator[str]:
    """How often the experiments that blocks of rounds make call a difference."""
    plain, seen, family, seen_among = [], [], [], []
    for block in blocks:
        same = [[one["same"][place][clock][:steps] for one in block] for place in range(4)]
        more = [[one["more"][place][clock][:steps] for one in block] for place in range(2)]
        plain += [*called(same[0], same[1]), *called(same[2], same[3]), *called(more[0], more[1])]
        seen += [*called(same[0], more[0], worse=True), *called(same[2], more[1], worse=True)]
        family.append(any(called(*same)))
        seen_among.append(called(same[0], more[0], same[1], same[2], worse=True)[0])
    for found in (plain, seen, family, seen_among):
        yield f"{sum(found)} of {len(found)} ({sum(found) / max(len(found), 1):.0%})"


def called(base: Sequence[Sequence[int]], *others: Sequence[Sequence[int]], worse: bool = False) -> list[bool]:
    """Whether each of the others, runs a round each, is called different from the first, or worse."""
    settings = [Setting(BASELINE, "baseline"), *(Setting(f"{n}", "vary", {"n": f"{n}"}) for n in range(len(others)))]
    trials = [
        Trial(setting.name, number, number, "ok", steps_ns=tuple(steps))
        for setting, runs in zip(settings, (base, *others), strict=True)
        for number, steps in enumerate(runs)
    ]
    results = results_of(ResultTable(tuple(settings), tuple(trials), "steps", LEAST))
    wanted = ("worse",) if worse else ("better", "worse")
    return [each.differences["step"].verdict in wanted for each in results[1:]]


def by_noise() -> None:
    """Print what experiments made of random numbers call, by what runs differ by and the number of rounds."""
    numbers = np.random.default_rng(1)
    for noise, settings in itertools.product((0.01, 0.02, 0.03), (1, 4)):
        line = []
        for count in (3, 5, 7, 9, 11):
            drawn = numbers.normal(0, noise, (EXPERIMENTS, settings + 1, count))
            ratios = drawn[:, 1:] - drawn[:, :1]
            wrong = sum(any(verdict != "cannot tell" for verdict in drawn_verdicts(each)) for each in ratios)
            ratios[:, 0] += math.log(1.05)
            right = sum(drawn_verdicts(each)[0] == "worse" for each in ratios)
            line.append(f"{count}: {wrong / EXPERIMENTS:.1%}, {right / EXPERIMENTS:.0%}")
        print(
            f"runs differ by {noise:.0%}, {settings} settings; rounds: any A/A called, +5 % called: {'; '.join(line)}"
        )


def drawn_verdicts(ratios: Any) -> list[str]:
    """The verdicts on log ratios, a row a setting."""
    means = {
        f"{place}": mean_of(list(each), [list(other) for number, other in enumerate(ratios) if number != place])
        for place, each in enumerate(ratios)
    }
    found = judge_differences({name: mean for name, mean in means.items() if mean}, LEAST, more_is_better=False)
    return ["cannot tell" if each.verdict == "no difference" else each.verdict for each in found.values()]


if __name__ == "__main__":
    main()
