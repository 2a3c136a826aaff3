"""traceq whatif: what the steps would last with something taken away, scaled, overlapped, moved or launched at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from traceq.cli._options import document_options, reading, reading_options
from traceq.cli._output import write_view


@click.command(short_help="Predict what a change would save, before you make it.")
@click.argument("source", metavar="SOURCE_OR_DB")
@click.option("--remove", multiple=True, metavar="WHAT", help="Take all of its time away.")
@click.option(
    "--scale", multiple=True, type=(str, float), metavar="WHAT FACTOR", help="Multiply its time: 0.5 is twice as fast."
)
@click.option("--overlap", multiple=True, metavar="WHAT", help="Let communication or copies run beside kernels.")
@click.option(
    "--move",
    multiple=True,
    type=(str, int),
    metavar="WHAT N",
    help="Let N other threads do it: work of the host.",
)
@click.option("--graph", is_flag=True, help="Launch the kernels between two waits at once, as a CUDA graph does.")
@click.option("--transfer-only", is_flag=True, help="Let no collective wait for other ranks.")
@click.option("--finding", metavar="F1", help="Take away what a finding owns: its number, its id or its rule.")
@click.option("--list", "lists", is_flag=True, help="List what can be changed in this trace.")
@click.option("--trace", type=int, metavar="N", help="Ask the trace with this trace_id. [default: the first]")
@click.option("--rank", type=click.IntRange(min=0), metavar="N", help="Ask the trace of this rank.")
@document_options()
@reading_options
def whatif(
    *,
    source: str,
    lists: bool,
    finding: str | None,
    trace: int | None,
    output: Path | None,
    format_: str,
    **options: Any,
) -> None:
    """Predict how long the steps take after a change, and what limits them then.

    The steps are executed again in a model of what waits for what (docs/whatif.md), without a change and with it;
    the answer is the difference, with the error that the model has on this trace. SOURCE_OR_DB is a trace database,
    or what `traceq ingest` accepts.

    WHAT is a category of the ledger (idle_data, compute, copy_h2d, ...), copies, or the host's or the GPU's work by
    name: host:GLOB, kernel:GLOB. Options may be repeated; all changes are made together. Without any, or with --list:
    what can be asked.

    \b
    Examples:
      traceq whatif job.duckdb --list
      traceq whatif job.duckdb --finding F1
      traceq whatif job.duckdb --remove idle_data
      traceq whatif job.duckdb --scale 'kernel:*flash*' 0.5 --overlap communication
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.whatif import CHANGES, whatif, whatif_choices

    changes = {name: options.pop(name) for name in CHANGES}
    asks = bool(finding) or any(changes.values())
    if lists and asks:
        raise click.UsageError("--list shows what can be changed; do not combine it with a change.")
    where = {"trace": trace, **options, **reading(output)}
    if lists or not asks:
        write_view(whatif_choices(source, **where), format_, output)
    else:
        write_view(whatif(source, finding=finding, **changes, **where), format_, output)
