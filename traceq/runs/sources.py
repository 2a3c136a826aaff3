"""The runs on a side of a comparison: those of a baseline, and one rank of those that a source holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from traceq.common.ranks import select_rank
from traceq.errors import UnusableBaseline
from traceq.runs import baselines
from traceq.runs.run import Run


def baseline_runs(source: str | Path) -> list[Run] | None:
    """Return the runs of the baseline with that name or file; None when `source` is no baseline.

    An existing file or non-empty folder of that name is preferred to a named baseline.
    """
    path = Path(source)
    is_there = path.is_file() or (path.is_dir() and any(path.iterdir()))
    kept = None if is_there else baselines.find(str(source))
    if kept is None and baselines.is_baseline(path):
        kept = baselines.read(path)
    return None if kept is None else list(kept.runs)


def file_of(source: str) -> Path:
    """Return the path that is read for `source`: the file of the baseline of that name, else `source` itself."""
    path = Path(source)
    if path.exists():
        return path
    try:
        kept = baselines.path_of(source)
    except UnusableBaseline:
        return path
    return kept if kept.is_file() else path


def runs_of_rank(runs: Sequence[Run], rank: int | None, source: str) -> list[Run]:
    """Return the runs of the given rank, by default of the lowest.

    Raises WrongUse, naming `source`, when that rank is missing.
    """
    places = select_rank({place: run.rank for place, run in enumerate(runs)}, rank, source)
    return [runs[place] for place in places]
