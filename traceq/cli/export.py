"""traceq export: a trace with what was found in it for Perfetto, call paths for other viewers, or tables as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from traceq.cli import completion
from traceq.cli._options import (
    goal_option,
    ranks_option,
    read_options_with_logs,
    rules_option,
    timeout_option,
    traces_options,
)
from traceq.common.text import printable

if TYPE_CHECKING:
    from traceq.app.export import Format
    from traceq.app.read_options import ReadOptions
    from traceq.diagnosis.subject import Goal
    from traceq.exports.stacks import Measure


@click.command(short_help="Write traces for Perfetto, speedscope, pprof; tables as files.")
@click.argument("source", metavar="SOURCE_OR_DB", shell_complete=completion.complete_files)
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FILE", help="Write to FILE; or to DIR."
)
@click.option(
    "--format",
    type=click.Choice(("perfetto", "chrome", "folded", "speedscope", "pprof", "chakra", "parquet", "csv")),
    help="perfetto and chrome are the same.  [default: by the suffix of -o]",
)
@click.option(
    "--finding",
    metavar="ID",
    shell_complete=completion.complete_findings,
    help="Only the time around this finding: its id, its rule, or F1, F2, ...",
)
@click.option(
    "--measure",
    type=click.Choice(("host", "gpu", "idle")),
    help="What folded stacks measure: host time, GPU time or GPU idle time.  [default: host]",
)
@traces_options
@ranks_option
@click.option(
    "--table",
    "tables",
    multiple=True,
    metavar="NAME",
    shell_complete=completion.complete_tables,
    help="Only this table or view; repeatable.",
)
@goal_option("Optimise for this, as traceq report does.")
@rules_option
@timeout_option("each rule of your own")
@read_options_with_logs
def export(
    *,
    source: str,
    output: Path,
    format: Format | None,  # noqa: A002 - the name of the option
    finding: str | None,
    measure: Measure | None,
    traces: tuple[int, ...],
    rank: int | None,
    ranks: tuple[int, ...],
    tables: tuple[str, ...],
    goal: Goal,
    rules: tuple[str | Path, ...],
    read: ReadOptions,
) -> None:
    """Write a trace for Perfetto, speedscope or pprof, or tables as files.

    SOURCE_OR_DB is a trace database or a file that `traceq ingest` accepts. A .json or .json.gz file is a Chrome trace for
    ui.perfetto.dev and chrome://tracing: the threads and streams as they were recorded, with arrows from launches to what
    they launched, next to the steps, the ledger of each GPU and the findings; the ranks of a job are on one clock.
    With --finding it holds the time around the worst occurrence of one finding, in less than 1 MB. .speedscope.json,
    .pb.gz (pprof) and .folded (for flamegraph.pl) hold call paths, each with its host time, GPU time and GPU idle time in
    the counted steps. .et is an execution trace of Chakra, for simulators: the counted steps of one rank as a graph.
    .parquet and .csv hold one table; with --format and a new directory as -o, every table and view
    that has rows becomes a file of its own.

    \b
    Examples:
      traceq export profile.duckdb -o profile.json.gz
      traceq export profile.duckdb --finding F1 -o first.json
      traceq export job.duckdb --ranks 0,6 -o late.json
      traceq export profile.duckdb -o profile.speedscope.json
      traceq export profile.duckdb --measure idle -o idle.folded
      traceq export job.duckdb --rank 0 -o job.0.et
      traceq export profile.duckdb --table step -o steps.csv
      traceq export profile.duckdb --format parquet -o tables
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.export import export as write_export

    written = write_export(
        source,
        output,
        read,
        format=format,
        finding=finding,
        measure=measure,
        traces=traces,
        rank=rank,
        ranks=ranks,
        tables=tables,
        goal=goal,
        rules=rules,
    )
    if written is None:
        return
    size = f"{written.events:,} {written.unit}, {output.stat().st_size:,} bytes"
    click.echo(f"{printable(str(output))}: {size}", err=True)
    if written.left_out is not None:
        click.echo(f"left out to stay small: {printable(written.left_out)}", err=True)
    if written.remark is not None:
        click.echo(printable(written.remark), err=True)
