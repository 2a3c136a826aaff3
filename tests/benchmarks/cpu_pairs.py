"""What fixes win in small programs on the CPU, and what traceq predicts of it from a trace of the slow program.

    python tests/benchmarks/cpu_pairs.py --only 'json|collate'    # prints the table
    python tests/benchmarks/cpu_pairs.py --write                  # keeps it in fixtures/pairs and docs/accuracy.md

Slow and fixed run in turns without a profiler; then the slow program three times with it. Needs PyTorch; takes some minutes.
"""

from __future__ import annotations

import argparse
import dataclasses
import gzip
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measure import ROOT, tell

sys.path.insert(0, str(ROOT / "tests"))

from pairs.catalogue import PAIRS, Pair
from pairs.measured import FILE, FOLDER, HEADING, Measured, Measurements, load, section
from pairs.prediction import Prediction, predicted

import traceq

PROGRAMS = ROOT / "fixtures" / "make" / "pairs"
PAGE = ROOT / "docs" / "accuracy.md"
CORES = len(os.sched_getaffinity(0))
MOST_WAITING, QUIET = 3, 0.3  # seconds; cores that other programs use
RECORDINGS = 3  # the one whose prediction is in the middle is taken
# Freed memory stays with the process; otherwise the page faults of a few steps decide which run is the faster.
ALLOCATOR = {"MALLOC_TRIM_THRESHOLD_": str(4 << 30), "MALLOC_MMAP_THRESHOLD_": str(32 << 20)}
KEPT = ("float64", "json_lines", "persistent_workers")
KEPT_ARGS = {"Ev Idx", "External id", "Sequence number", "Fwd thread id", "name", "labels", "sort_index"}
KEPT_ARGS |= {"Input type", "Input Dims"}


def main() -> None:
    """Run from the command line."""
    options = _options()
    chosen = [pair for pair in PAIRS if re.search(options.only, pair.name)]
    results: Measurements = {"cores": CORES, "pairs": {}}
    for pair in chosen:
        results["pairs"][pair.name] = _measured(pair, options.times, write=options.write)
        if options.write:
            _write(results)
    print("\n".join(section(results)))


def _write(results: Measurements) -> None:
    """Keep what was measured, beside what was measured of other pairs before."""
    if FILE.is_file():
        results = {"cores": CORES, "pairs": load()["pairs"] | results["pairs"]}
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    PAGE.write_text(_with_section(PAGE.read_text("utf-8"), list(section(results))), "utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="REGEX", help="pairs whose names match")
    parser.add_argument("--times", type=int, default=5, metavar="N", help="runs of each program")
    parser.add_argument("--write", action="store_true", help="write fixtures/pairs and the section of docs/accuracy.md")
    return parser.parse_args()


def _measured(pair: Pair, times: int, *, write: bool) -> Measured:
    """Run a pair, and predict from a trace."""
    tell(pair.name)
    statistic = statistics.mean if pair.mean else statistics.median
    slow, fixed = [], []
    for _ in range(times):
        if pair.clock:
            _wait_for_cores()
        slow.append(round(statistic(_run(pair, "slow"))))
        fixed.append(round(statistic(_run(pair, "fixed"))))
    with tempfile.TemporaryDirectory() as folder:
        traces = [_recorded(pair, Path(folder) / str(number)) for number in range(RECORDINGS)]
        traces.sort(key=lambda each: each[1].likely if each[1] else 0)
        trace, prediction = traces[RECORDINGS // 2]
        if write and pair.name in KEPT:
            FOLDER.mkdir(exist_ok=True)
            (FOLDER / f"{pair.name}.pt.trace.json.gz").write_bytes(trace.read_bytes())
    shares = None if prediction is None else dataclasses.asdict(prediction)
    return {"slow_ns": slow, "fixed_ns": fixed, "predicted": shares}


def _wait_for_cores() -> None:
    """Return when other programs leave the cores alone, or after some seconds."""
    for _ in range(MOST_WAITING):
        before = os.times().elapsed, _busy_seconds()
        time.sleep(1)
        busy = (_busy_seconds() - before[1]) / (os.times().elapsed - before[0])
        if busy < QUIET:
            return


def _busy_seconds() -> float:
    """Seconds of CPU that all programs of the machine have used."""
    user, nice, system, _idle, _waiting, *interrupts = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    return sum(map(int, (user, nice, system, *interrupts[:2]))) / os.sysconf("SC_CLK_TCK")


def _recorded(pair: Pair, folder: Path) -> tuple[Path, Prediction | None]:
    """A trace of the slow program, and what the finding in its report predicts."""
    _run(pair, "slow", "--trace", folder)
    trace = folder / "trace.rank0.pt.trace.json.gz"
    _strip(trace)
    with traceq.open(trace) as traces:
        return trace, predicted(pair, traces)


def _run(pair: Pair, *arguments: str | Path) -> list[int]:
    """Run a program; the nanoseconds of its steps, by the clock or of CPU."""
    command = [sys.executable, PROGRAMS / f"{pair.name}.py", *arguments]
    environment = os.environ | ALLOCATOR | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(
            f"{pair.name} {' '.join(map(str, arguments))} ended with code {done.returncode}:\n{done.stderr[-2000:]}"
        )
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return list(json.loads(line)["steps_ns" if pair.clock else "cpu_ns"])


def _strip(trace: Path) -> None:
    """Take names of machines and what else no prediction needs out of a trace."""
    content: dict[str, Any] = json.loads(gzip.decompress(trace.read_bytes()))
    content.pop("host_name", None)
    content.pop("traceName", None)
    content["traceEvents"] = [_less(event) for event in content["traceEvents"] if event.get("ph") not in ("s", "f")]
    trace.write_bytes(gzip.compress(json.dumps(content, separators=(",", ":")).encode(), 9, mtime=0))


def _less(event: dict[str, Any]) -> dict[str, Any]:
    args = {key: value for key, value in event.get("args", {}).items() if key in KEPT_ARGS}
    return {key: value for key, value in event.items() if key != "args"} | ({"args": args} if args else {})


def _with_section(page: str, lines: Sequence[str]) -> str:
    """The page with this section instead of the one it has, or at its end."""
    before, _, rest = page.partition(f"{HEADING}\n")
    next_section = re.search(r"^(## |<!-- )", rest, re.MULTILINE)
    after = rest[next_section.start() :] if next_section else ""
    return f"{before.rstrip()}\n\n" + "\n".join(lines) + (f"\n{after}" if after else "")


if __name__ == "__main__":
    main()
