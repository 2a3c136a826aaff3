"""The runs that a command is given: trace databases, traces to ingest, and baselines by name or file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from traceq.cli.source import check_output, opened, unreadable
from traceq.cli.sparing import sparing

if TYPE_CHECKING:
    import duckdb

    from traceq.runs.run import Run

Draw = Callable[["duckdb.DuckDBPyConnection", list["Run"]], None]


def every_run(
    source: str, output: Path | None = None, step_range: str | None = None, draw: Draw | None = None
) -> list[Run]:
    """The runs of a trace database, of a trace, or of a baseline, all ranks. `output` may overwrite none of them.

    `draw` is called while the database is open; a baseline has none.
    """
    if not source:
        raise click.UsageError("A source is empty: name a trace, a trace database or a baseline.")
    from traceq.queries import interruptible
    from traceq.runs.read import read_runs
    from traceq.sides import baseline_runs

    kept = baseline_runs(source)
    if kept is not None:
        return kept
    with opened(source, output, step_range) as connection, unreadable(source, "compared"), sparing(connection):
        runs = interruptible(connection, lambda: read_runs(connection, source))
        if draw is not None:
            draw(connection, runs)
        return runs


def check_outputs(outputs: Iterable[Path | None], sources: Iterable[str]) -> None:
    """Refuse to overwrite what is read, baselines by name included, and refuse before reading what cannot be written after."""
    from traceq.sides import file_of

    files = [file_of(source) for source in sources]
    for output in outputs:
        for path in files:
            check_output(output, path)


def side(
    sources: Sequence[str], rank: int | None = None, output: Path | None = None, step_range: str | None = None
) -> list[Run]:
    """The runs of all sources, one rank of each: `rank`, else the lowest. Raises click.UsageError when a source lacks it."""
    return [run for source in sources for run in of_rank(every_run(source, output, step_range), rank, source)]


def of_rank(runs: Sequence[Run], rank: int | None, source: str) -> list[Run]:
    """The runs of one rank: `rank`, else the lowest there is."""
    from traceq.sides import of_rank as chosen

    try:
        return chosen(runs, rank, source)
    except ValueError as error:
        raise click.UsageError(f"--{error}.") from error
