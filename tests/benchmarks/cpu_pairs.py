"""What fixes win in small programs on the CPU, and what traceq predicts of it from a trace of the slow program.

    pip install -c constraints.txt -r fixtures/make/pairs/requirements.txt      # for pairs with libraries
    python tests/benchmarks/cpu_pairs.py --only 'json|collate'                  # prints the table
    python tests/benchmarks/cpu_pairs.py --write                                # keeps it

Slow and fixed run in turns without a profiler; then the slow program with it. Needs PyTorch; all take 20 to 30 minutes. What is
written: fixtures/pairs, tests/truth/pairs.json, docs/calibration.jsonl, and the section of docs/accuracy.md.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import math
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

import msgspec
from measure import ROOT, tell

sys.path.insert(0, str(ROOT / "tests"))

from pairs.catalogue import PAIRS, Pair
from pairs.measurements import (
    FILE,
    FOLDER,
    HEADING,
    TRUTH,
    Measured,
    Measurements,
    Predicted,
    load,
    section,
    truth,
    won,
)
from pairs.prediction import predicted

import traceq
from traceq.diagnosis.finding import Finding
from traceq.runs.verify.calibration import Calibrated, Hardware, Won, append, line_of, pair_of, read
from traceq.sharing.made_with import carry

PROGRAMS = ROOT / "fixtures" / "make" / "pairs"
PAGE = ROOT / "docs" / "accuracy.md"
CALIBRATION = ROOT / "docs" / "calibration.jsonl"
CORES = len(os.sched_getaffinity(0))
MOST_WAITING, QUIET = 3, 0.3  # seconds; cores that other programs use
LONGEST = 180  # seconds of a program
# Freed memory stays with the process; otherwise the page faults of a few steps decide which run is the faster.
ALLOCATOR = {"MALLOC_TRIM_THRESHOLD_": str(4 << 30), "MALLOC_MMAP_THRESHOLD_": str(32 << 20)}
OFFLINE = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
KEPT = ("float64", "hf_tokenizer", "json_lines", "pandas_apply", "persistent_workers", "threads", "weighted_sampler")
LARGEST, STEPS = 100_000, (10, 5)  # bytes of a trace that is kept; with how many steps it is tried
KEPT_ARGS = {"Ev Idx", "External id", "Sequence number", "Fwd thread id", "name", "labels", "sort_index"}
KEPT_ARGS |= {"Input type", "Input Dims"}
NEAR = 1e-3  # of the losses of slow and fixed


class NotAPair(Exception):
    """A program failed, or slow and fixed do not do the same."""


def main() -> None:
    """Run from the command line."""
    options = _options()
    chosen = [pair for pair in PAIRS if re.search(options.only, pair.name)]
    results: Measurements = {"cores": CORES, "pairs": {}}
    failed = []
    for pair in chosen:
        if lacking := [name for name in pair.needs if importlib.util.find_spec(name) is None]:
            tell(f"{pair.name}: skipped, there is no {', '.join(lacking)}")
            continue
        begin = time.monotonic()
        try:
            results["pairs"][pair.name] = _measured(pair, options.times, write=options.write)
        except NotAPair as error:
            failed.append(pair.name)
            tell(str(error))
            if options.write:
                _write(results, failed)
            continue
        tell(f"{pair.name}: {time.monotonic() - begin:.0f} s")
        if options.write:
            _write(results, failed)
    if results["pairs"]:
        print("\n".join(section(results)))
    if failed:
        raise SystemExit(f"not measured: {', '.join(failed)}")


def _write(results: Measurements, failed: Sequence[str]) -> None:
    """Keep what was measured, beside what was measured of other pairs before, but for those that failed now."""
    last = load() if FILE.is_file() else results
    pairs = {name: each for name, each in (last["pairs"] | results["pairs"]).items() if name not in failed}
    without = sorted({*last.get("failed", []), *failed} - pairs.keys())
    results = {"cores": CORES, "pairs": pairs, **({"failed": without} if without else {})}
    _drop_lines(failed)
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    TRUTH.write_text(json.dumps(truth(results), indent=1) + "\n", "utf-8")
    PAGE.write_text(_with_section(PAGE.read_text("utf-8"), list(section(results))), "utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="REGEX", help="pairs whose names match")
    parser.add_argument(
        "--times",
        type=int,
        default=3,
        metavar="N",
        help="runs of each program; 0: predict again",
    )
    parser.add_argument("--write", action="store_true", help="keep what was measured")
    return parser.parse_args()


def _measured(pair: Pair, times: int, *, write: bool) -> Measured:
    """Run a pair, and predict from a trace; `times` 0 takes what was measured last."""
    slow, fixed = _times(pair, times) if times else _last(pair)
    measured: Measured = {"slow_ns": slow, "fixed_ns": fixed, "predicted": None}
    with tempfile.TemporaryDirectory() as folder:
        trace = _recorded(pair, Path(folder))
        with traceq.open(trace) as traces:
            found = predicted(pair, traces)
        if found is not None:
            measured["predicted"] = _shares(*found)
        if write:
            _keep(pair, trace, found, measured)
    return measured


def _times(pair: Pair, times: int) -> tuple[list[int], list[int]]:
    """Nanoseconds a step of the slow and of the fixed program, run in turns."""
    statistic = statistics.mean if pair.mean else statistics.median
    slow, fixed = [], []
    for _ in range(times):
        if pair.clock:
            _wait_for_cores()
        before, after = _run(pair, "slow"), _run(pair, "fixed")
        _check_losses(pair, before["loss"], after["loss"])
        times_of = "steps_ns" if pair.clock else "cpu_ns"
        slow.append(round(statistic(before[times_of])))
        fixed.append(round(statistic(after[times_of])))
    return slow, fixed


def _last(pair: Pair) -> tuple[list[int], list[int]]:
    known = load()["pairs"]
    if pair.name not in known:
        raise NotAPair(f"{pair.name}: was not measured yet, so that --times 0 has nothing to take")
    return known[pair.name]["slow_ns"], known[pair.name]["fixed_ns"]


def _check_losses(pair: Pair, slow: float, fixed: float) -> None:
    """Raise NotAPair unless both variants end with a loss, and with the same where the fix changes no result."""
    if not (math.isfinite(slow) and math.isfinite(fixed)):
        raise NotAPair(f"{pair.name}: the loss is {slow} and {fixed}")
    if pair.same_loss and not math.isclose(slow, fixed, rel_tol=NEAR, abs_tol=NEAR**2):
        raise NotAPair(f"{pair.name}: slow ends with a loss of {slow}, fixed of {fixed}")


def _shares(finding: Finding, step_ns: float) -> Predicted:
    return {
        "rule": finding.rule,
        "low": finding.saving_low_ns / step_ns,
        "likely": finding.saving_ns / step_ns,
        "high": finding.saving_high_ns / step_ns,
    }


def _keep(pair: Pair, trace: Path, found: tuple[Finding, float] | None, measured: Measured) -> None:
    """The trace, if it is one of those that are kept, and a line of the file of checked predictions."""
    if pair.name in KEPT:
        FOLDER.mkdir(exist_ok=True)
        kept = FOLDER / f"{pair.name}.pt.trace.json.gz"
        kept.write_bytes(trace.read_bytes())
        carry(trace, kept)
    _drop_lines([pair.name])
    if found is not None:
        append(CALIBRATION, _line(pair, *found, measured))


def _drop_lines(names: Sequence[str]) -> None:
    """Take the pairs' lines out of the file of checked predictions."""
    dropped = {pair_of(name) for name in names}
    others = [line for line in read(CALIBRATION) if line.pair not in dropped]
    CALIBRATION.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in others))


def _line(pair: Pair, finding: Finding, step_ns: float, measured: Measured) -> Calibrated:
    """A checked prediction. What was won is of a step without the profiler: the median of the turns, and their range."""
    base, shares = statistics.median(measured["slow_ns"]), won(measured)
    return line_of(
        finding,
        Won(statistics.median(shares) * base, shares[0] * base, shares[-1] * base, base),
        how="pair",
        pair=pair_of(pair.name),
        step_ns=step_ns,
        format="chrome",
        hardware=Hardware("cpu", None, CORES),
        program=pair.name,
        is_public=True,
        note=pair.note,
    )


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


def _recorded(pair: Pair, folder: Path) -> Path:
    """A trace of the slow program with the snapshot beside it, small where it is to be kept."""
    trace = folder / "slow.pt.trace.json.gz"
    for count in STEPS:
        _run(pair, "slow", "--trace", folder, "--steps", str(count))
        _strip(folder / "trace.rank0.pt.trace.json.gz", trace)
        if pair.name not in KEPT or trace.stat().st_size <= LARGEST:
            break
    return trace


def _run(pair: Pair, *arguments: str | Path) -> dict[str, Any]:
    """Run a program: the nanoseconds of its steps, by the clock and of CPU, and the last loss."""
    command = [sys.executable, PROGRAMS / f"{pair.name}.py", *arguments]
    environment = os.environ | ALLOCATOR | OFFLINE | {"PYTHONPATH": str(ROOT)}
    called = f"{pair.name} {' '.join(map(str, arguments))}"
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=LONGEST)
    except subprocess.TimeoutExpired as error:
        raise NotAPair(f"{called} took longer than {LONGEST} s") from error
    if done.returncode:
        raise NotAPair(f"{called} ended with code {done.returncode}:\n{done.stderr[-2000:]}")
    (line,) = [line for line in done.stdout.splitlines() if line.startswith('{"steps_ns"')]
    told: dict[str, Any] = json.loads(line)
    return told


def _strip(trace: Path, target: Path) -> None:
    """Write a trace again without names of machines and what else no prediction needs."""
    content: dict[str, Any] = json.loads(gzip.decompress(trace.read_bytes()))
    content.pop("host_name", None)
    content.pop("traceName", None)
    content["traceEvents"] = [_less(event) for event in content["traceEvents"] if event.get("ph") not in ("s", "f")]
    target.write_bytes(gzip.compress(json.dumps(content, separators=(",", ":")).encode(), 9, mtime=0))
    carry(trace, target)


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
