"""traceq noise: measure how much runs of one program differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from traceq.cli import completion
from traceq.cli._options import Several, document_options, rank_option, read_options, statistic_option
from traceq.cli._output import write_view

if TYPE_CHECKING:
    from traceq.app.read_options import ReadOptions, Which
    from traceq.runs.statistics import Statistic


@click.command(cls=Several, short_help="Measure how much runs of one program differ.")
@click.argument("sources", nargs=-1, required=True, metavar="RUN RUN...", shell_complete=completion.complete_baselines)
@document_options()
@rank_option("Use")
@statistic_option("use")
@read_options
def noise(
    *,
    sources: tuple[str, ...],
    output: Path | None,
    format_: str,
    which: Which,
    statistic: Statistic,
    read: ReadOptions,
) -> None:
    """Measure the noise between runs of one program, beyond the scatter of the steps within each run.

    A RUN is a trace database, a file that `traceq ingest` accepts, or a baseline by name. Runs that
    cannot be compared are refused.

    \b
    Examples:
      traceq noise monday.duckdb tuesday.duckdb wednesday.duckdb
      traceq compare before.duckdb after.duckdb --noise 0.8%
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.noise import noise as noise_of

    write_view(noise_of(sources, which, read.with_writes(output), statistic=statistic), format_, output)
