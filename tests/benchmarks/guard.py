"""What an ingest costs, for CI to show: CPU seconds of a small trace, and CPU per event of the same trace repeated.

The traces are those of fixtures/run, so that the numbers of two commits compare. Nothing is asserted: machines differ,
and so the table says what `json.load` of the same events costs on this one.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import tempfile
from pathlib import Path

import grow_chrome
import grow_nsys
from measure import ROOT, Cost, cost, ingest, tell

CHROME = ROOT / "fixtures" / "run" / "kineto_2026.json.gz"
NSYS = ROOT / "fixtures" / "run" / "nsys_2023.4.sqlite"
_LOAD = "import json, sys; print(len(json.load(open(sys.argv[1]))['traceEvents']))"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000, help="events of the repeated traces, at least")
    parser.add_argument("--times", type=int, default=2, metavar="N", help="runs of each ingest; the best counts")
    arguments = parser.parse_args()
    tell(f"{'trace':<8}{'events':>10}{'ingest, CPU s':>16}{'CPU us/event':>16}{'x json.load':>14}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _chrome(folder, arguments.events, arguments.times)
        _nsys(folder, arguments.events, arguments.times)


def _chrome(folder: Path, wanted: int, times: int) -> None:
    """The rows of the Chrome trace: as it is, and repeated."""
    small, large = folder / "small.json", folder / "large.json"
    small.write_bytes(gzip.decompress(CHROME.read_bytes()))
    (few, _), fixed = _loaded(small), _best(small, times)
    _row("chrome", few, fixed, None, None)
    grow_chrome.grow(CHROME, small.stat().st_size * wanted // few, large)
    (many, load), whole = _loaded(large), _best(large, times)
    _row("chrome", many, whole, (whole - fixed) / (many - few), whole / load)


def _nsys(folder: Path, wanted: int, times: int) -> None:
    """The rows of the nsys export: as it is, and repeated."""
    small, large = folder / "small.sqlite", folder / "large.sqlite"
    few = grow_nsys.grow(NSYS, 1, small)
    fixed = _best(small, times)
    _row("nsys", few, fixed, None, None)
    many = grow_nsys.grow(NSYS, wanted, large)
    whole = _best(large, times)
    _row("nsys", many, whole, (whole - fixed) / (many - few), None)


def _best(trace: Path, times: int) -> float:
    """The CPU seconds of the cheapest of some ingests, start of Python included."""
    return min(ingest(trace, trace.with_suffix(".duckdb")).cpu for _ in range(times))


def _loaded(trace: Path) -> tuple[int, float]:
    """The number of events, and the CPU seconds of `json.load` in a process of its own."""
    done: Cost = cost([sys.executable, "-c", _LOAD, trace])
    return int(done.output), done.cpu


def _row(name: str, events: int, cpu: float, per_event: float | None, loads: float | None) -> None:
    shares = f"{per_event * 1e6:16.1f}" if per_event is not None else f"{'':>16}"
    tell(f"{name:<8}{events:>10,}{cpu:>16.2f}{shares}" + (f"{loads:14.2f}" if loads is not None else ""))


if __name__ == "__main__":
    main()
