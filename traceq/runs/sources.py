"""What stands on a side of a comparison: runs of a baseline, and one rank of those that a source holds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from traceq.errors import UnusableBaseline, WrongUse
from traceq.runs import baselines
from traceq.runs.run import Run


def baseline_runs(source: str | Path) -> list[Run] | None:
    """The runs of a baseline, by its name or file; None when the source is none. A file of that name comes first."""
    path = Path(source)
    is_there = path.is_file() or (path.is_dir() and any(path.iterdir()))
    kept = None if is_there else baselines.find(str(source))
    if kept is None and baselines.is_baseline(path):
        kept = baselines.read(path)
    return None if kept is None else list(kept.runs)


def file_of(source: str) -> Path:
    """The file that is read: that of a baseline given by its name, else the source itself."""
    path = Path(source)
    if path.exists():
        return path
    try:
        kept = baselines.path_of(source)
    except UnusableBaseline:
        return path
    return kept if kept.is_file() else path


def of_rank(runs: Sequence[Run], rank: int | None, source: str) -> list[Run]:
    """The runs of one rank: `rank`, else the lowest there is. Raises WrongUse when there is no such rank."""
    chosen = chosen_ranks([run.rank for run in runs], rank, source)
    return [run for run in runs if run.rank in chosen]


def chosen_ranks(known: Collection[int | None], rank: int | None, source: str) -> set[int | None]:
    """`rank`, else the lowest of the known ones, and None, which any rank may be. Raises WrongUse when there is no such rank."""
    ranks = sorted({each for each in known if each is not None})
    if rank is None:
        return {None, *ranks[:1]}
    if rank not in ranks:
        there = f"holds ranks {', '.join(map(str, ranks))}" if ranks else "does not say which rank it is"
        raise WrongUse(f"rank {rank}: {source} {there}")
    return {rank}
