"""The runs on a side of a comparison: those of a baseline, and one rank of those that a source holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from traceq.common.ranks import select_rank
from traceq.errors import UnusableBaseline
from traceq.runs import baselines
from traceq.runs.run import Run


def baseline_runs(source: str | Path) -> list[Run] | None:
    """Return the runs of a baseline, by its name or file; None when the source is not one. A file of that name comes first."""
    path = Path(source)
    is_there = path.is_file() or (path.is_dir() and any(path.iterdir()))
    kept = None if is_there else baselines.find(str(source))
    if kept is None and baselines.is_baseline(path):
        kept = baselines.read(path)
    return None if kept is None else list(kept.runs)


def file_of(source: str) -> Path:
    """Return the file that is read: that of a baseline given by its name, else the source itself."""
    path = Path(source)
    if path.exists():
        return path
    try:
        kept = baselines.path_of(source)
    except UnusableBaseline:
        return path
    return kept if kept.is_file() else path


def runs_of_rank(runs: Sequence[Run], rank: int | None, source: str) -> list[Run]:
    """Return the runs of one rank: `rank`, else the lowest there is. Raises WrongUse when there is no such rank."""
    places = select_rank({place: run.rank for place, run in enumerate(runs)}, rank, source)
    return [runs[place] for place in places]
