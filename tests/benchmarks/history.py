"""Histories: time of `show` and `add` with 10,000 reports, and how often healthy histories fail and creeps pass.

    python tests/benchmarks/history.py [HISTORIES]

HISTORIES (200) are made for each length and kind of noise.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from made_histories import MS, entry, fill_history, series_of  # noqa: E402 - needs the path

from traceq.runs.history.gate import judge_history  # noqa: E402
from traceq.runs.history.store import add_entries  # noqa: E402

REPORTS = 10_000
LENGTHS = (8, 12, 20, 40, 100, 365)
CREEP = 0.005
# Reports, and days between them.
CREEPS = ((20, 7), (30, 7), (40, 7), (56, 1), (84, 1))


def make_noise(kind: str, count: int, random: np.random.Generator) -> np.ndarray:
    """Noise of a standard deviation of 1: normal, with heavy tails, autocorrelated, or normal with 3 % far outliers."""
    if kind == "heavy tails":
        return random.standard_t(3, count) / np.sqrt(3)
    steps = random.standard_normal(count)
    if kind == "autocorrelated":
        for number in range(1, count):
            steps[number] = 0.5 * steps[number - 1] + np.sqrt(0.75) * steps[number]
    return steps + (np.where(random.random(count) < 0.03, 20, 0) if kind == "outliers" else 0)


def is_failed(values: np.ndarray, days: float) -> bool:
    """Whether the last report of these fails."""
    return judge_history(series_of(values, days=days), "step.typical", 0, "h").budget.state == "fail"


def tell_false_alarms(histories: int) -> None:
    """Print the share of healthy histories that fail, by length and noise (1 % of the step)."""
    random = np.random.default_rng(1)
    for kind in ("normal", "heavy tails", "autocorrelated", "outliers"):
        said = []
        for count in LENGTHS:
            failed = sum(
                is_failed(100 * MS * (1 + 0.01 * make_noise(kind, count, random)), 1) for _ in range(histories)
            )
            said.append(f"{count}: {failed / histories:.1%}")
        print(f"false alarms, {kind} noise, by reports: {', '.join(said)}")


def tell_creeps(histories: int) -> None:
    """Print the share of histories that creep by 0.5 % a week and fail, by length and noise."""
    random = np.random.default_rng(2)
    for count, days in CREEPS:
        growth = (1 + CREEP) ** (np.arange(count) * days / 7)
        said = []
        for share in (0.005, 0.01, 0.02):
            failed = sum(
                is_failed(100 * MS * growth * (1 + share * random.standard_normal(count)), days)
                for _ in range(histories)
            )
            said.append(f"noise {share:.1%}: {failed / histories:.1%}")
        print(f"creeps found, {count} reports, one in {days} days: {', '.join(said)}")


def tell_times(folder: Path) -> None:
    """Print wall and CPU time of commands on a history of 10,000 reports, and the size of its file."""
    path = folder / "history.duckdb"
    fill_history(path, REPORTS, change_at=6_000)
    print(f"{REPORTS:,} reports: {path.stat().st_size / 2**20:.0f} MiB")
    for words in (["show"], ["show", "--quantity", "step.typical"], ["show", "--format", "html"], ["list"]):
        command = [sys.executable, "-m", "traceq", "history", *words, "--in", str(path)]
        walls, processors = [], []
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            begin = time.perf_counter()
            subprocess.run(
                command, check=True, capture_output=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}
            )
            walls.append(time.perf_counter() - begin)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            processors.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        print(f"history {' '.join(words)}: {min(walls):.2f} s, {min(processors):.2f} s of CPU (least of 3)")
    begin = time.perf_counter()
    add_entries(path, [entry(1, name="new")])
    print(f"one report added: {time.perf_counter() - begin:.3f} s")


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as name:
        tell_times(Path(name))
    tell_false_alarms(wanted)
    tell_creeps(wanted)
