"""Baseline: the small summary of runs that later ones are compared with."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from traceq.app.read_options import AS_FOUND, LOWEST, ReadOptions, Which
from traceq.app.source import Sources, as_list, read_runs_of
from traceq.errors import UnusableBaseline
from traceq.runs import baselines
from traceq.runs.compare.side import drop_duplicates

MOST_KEPT = 30
"""Runs of a baseline that is added to: a month of nightly ones."""


class SavedBaseline(NamedTuple):
    """A saved baseline: its file, its numbers of runs and counted steps, and how many runs were given repeatedly."""

    path: Path
    runs: int
    steps: int
    repeated: int


def save_baseline(
    name: str,
    sources: Sources,
    which: Which = LOWEST,
    read: ReadOptions = AS_FOUND,
    *,
    force: bool = False,
    add: bool = False,
    directory: Path | None = None,
) -> SavedBaseline:
    """Save the runs of the sources as the baseline `name`; `force` replaces an existing one, `add` adds the runs to it.

    After adding, only the latest MOST_KEPT runs are kept. Baselines lie in `directory`, by default TRACEQ_BASELINES,
    else .traceq/baselines. Raises UnusableBaseline when the name is taken or no step counts.
    """
    path = baselines.path_of(name, directory)
    if path.exists() and not (force or add):  # said before an hour is spent on reading
        raise UnusableBaseline(f"{name}: already exists, in {path}; --force replaces it, --add adds to it")
    kept = baselines.find(name, directory) if add else None
    given = read_runs_of(sources, which, read)
    new = [replace(run, source=name) for run in drop_duplicates(given)]
    runs = drop_duplicates([*(kept.runs if kept else ()), *new])[-max(MOST_KEPT, len(new)) :]
    steps = sum(len(run.counted) for run in runs)
    if not steps:
        listed = ", ".join(map(str, as_list(sources)))
        raise UnusableBaseline(f"{listed}: has no counted steps, so nothing could be compared with it")
    path = baselines.save(name, runs, directory, force=force or add)
    return SavedBaseline(path, len(runs), steps, len(given) - len(new))
