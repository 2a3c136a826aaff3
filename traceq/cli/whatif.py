"""traceq whatif: predict the steps with something taken away, scaled, overlapped or moved, or on another platform."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from traceq.app.whatif_platform_request import PlatformRequest
from traceq.app.whatif_request import WhatIfRequest
from traceq.cli import completion
from traceq.cli._options import (
    F,
    declare_ranks,
    document_options,
    explicit_options,
    finding_option,
    gather,
    read_options,
)
from traceq.cli._output import write_view

if TYPE_CHECKING:
    from traceq.app.read_options import ReadOptions
    from traceq.app.view import View


_BANDWIDTH = click.FloatRange(min=0, min_open=True)

# Options that say what another GPU or more ranks would do.
_PLATFORM = ("gpu", "host_factor", "link", "network", "ranks_per_node")

# Options that ask for a change of one trace: the fields of a WhatIfRequest.
_CHANGES = WhatIfRequest._fields


def _change_option(name: str, metavar: str, type_: type | tuple[type, ...], help_: str) -> Callable[[F], F]:
    """Return a decorator that declares a repeatable option for a change, which completes names of ledger categories."""
    complete = completion.complete_changes
    return click.option(name, multiple=True, type=type_, metavar=metavar, shell_complete=complete, help=help_)


@click.command(short_help="Predict what a change would save, before you make it.")
@click.argument("source", metavar="SOURCE_OR_DB", shell_complete=completion.complete_files)
@click.argument(
    "like", nargs=-1, metavar="[like median]", shell_complete=completion.complete_one_of(("like", "median"))
)
@_change_option("--remove", "WHAT", str, "Remove all of its time.")
@_change_option("--scale", "WHAT FACTOR", (str, float), "Multiply its time: 0.5 is twice as fast.")
@_change_option("--overlap", "WHAT", str, "Overlap communication or copies with kernels.")
@_change_option("--move", "WHAT N", (str, int), "Move host work to N other threads.")
@click.option("--graph", is_flag=True, help="Launch the kernels between two waits at once, as a CUDA graph does.")
@click.option("--transfer-only", is_flag=True, help="Let no collective wait for other ranks.")
@finding_option("--finding", "Remove the time a finding owns")
@click.option("--list", "lists", is_flag=True, help="List what can be changed in this trace.")
@click.option("--trace", type=int, metavar="N", help="Use the trace with this trace_id. [default: the first]")
@click.option("--rank", type=click.IntRange(min=0), metavar="N", help="Use the trace of this rank.")
@declare_ranks("In a job of N ranks: 64; or with `like median` these ranks: 0,6.")
@click.option("--host", "hosts", multiple=True, metavar="NAME", help="With `like median`: all ranks of this host.")
@click.option(
    "--gpu", metavar="NAME", shell_complete=completion.complete_gpus, help="On another GPU, as B200, or A100 80GB."
)
@click.option(
    "--host-factor", metavar="LOW-HIGH", help="With --gpu: how much longer its host takes. [default: 0.75-1.33]"
)
@click.option(
    "--link", type=_BANDWIDTH, metavar="GB/S", help="Within a node, per rank and direction. [default: the GPU's]"
)
@click.option("--network", type=_BANDWIDTH, metavar="GB/S", help="Between nodes, per rank and direction.")
@click.option(
    "--ranks-per-node", type=click.IntRange(min=1), default=8, show_default=True, metavar="N", help="Of a server."
)
@document_options()
@gather("request", WhatIfRequest, *_CHANGES)
@read_options
def whatif(
    *,
    source: str,
    like: tuple[str, ...],
    request: WhatIfRequest,
    lists: bool,
    trace: int | None,
    rank: int | None,
    ranks: tuple[int, ...],
    hosts: tuple[str, ...],
    gpu: str | None,
    host_factor: str | None,
    link: float | None,
    network: float | None,
    ranks_per_node: int,
    output: Path | None,
    format_: str,
    read: ReadOptions,
) -> None:
    """Predict how long the steps take after a change, and what limits them then.

    The steps are replayed in a causal model (docs/whatif.md), with and without the change; the answer
    is the difference, with the error of the model on this trace. SOURCE_OR_DB is a trace database, or what
    `traceq ingest` accepts.

    WHAT is a category of the ledger (idle_data, compute, copy_h2d, ...), copies, or work of the host or the GPU by
    name: host:GLOB, kernel:GLOB. Options are repeatable; all changes are made together. Without any, or with --list, it
    shows what can be changed.

    With traces of several ranks, `--rank 0 like median` predicts how long a step of the job would take if that rank were
    like the median one; --ranks and --host name several.

    --gpu predicts the steps on another GPU: kernels by the ratio of its limits, copies and collectives by its links, within
    bounds. --ranks N alone predicts them in a job of N ranks that share the data, with collectives by latency and bandwidth.

    \b
    Examples:
      traceq whatif job.duckdb --list
      traceq whatif job.duckdb --finding F1
      traceq whatif job.duckdb --remove idle_data
      traceq whatif job.duckdb --ranks 0,6 like median
      traceq whatif job.duckdb --scale 'kernel:*flash*' 0.5 --overlap communication
      traceq whatif job.duckdb --gpu B200
      traceq whatif job.duckdb --ranks 64 --network 50
    """  # noqa: D301 - click wants the backspace itself
    read = read.with_writes(output)
    # one number without `like median` is how many ranks there would be
    grown = ranks[0] if len(ranks) == 1 and not like and not hosts else None
    if gpu is not None or grown is not None:
        _check_platform(like, grown, gpu)
        from traceq.app.whatif_platform import whatif_platform

        asked = PlatformRequest(gpu, grown, host_factor, link, network, ranks_per_node)
        write_view(whatif_platform(source, asked, read, trace=trace, rank=rank), format_, output)
        return
    if named := explicit_options(*_PLATFORM):
        raise click.UsageError(f"{named[0]} needs --gpu NAME, or --ranks N.")
    if like or ranks or hosts:
        from traceq.app.whatif_job import whatif_job

        chosen = (*ranks, *(() if rank is None else (rank,)))
        _check_job(like, is_chosen=bool(chosen or hosts))
        write_view(whatif_job(source, read, ranks=chosen, hosts=hosts), format_, output)
        return
    from traceq.app.whatif import whatif, whatif_choices

    if lists and request.is_given:
        raise click.UsageError("--list shows what can be changed; do not combine it with a change.")
    if request.is_given:
        view: View[Any] = whatif(source, request, read, trace=trace, rank=rank)
    else:
        view = whatif_choices(source, read, trace=trace, rank=rank)
    write_view(view, format_, output)


def _check_job(like: tuple[str, ...], *, is_chosen: bool) -> None:
    """Raise UsageError unless the options are a change of a job: `like median`, with ranks or hosts and nothing else."""
    from traceq.app.whatif_job import LIKE

    if like != ("like", LIKE):
        said = " ".join(like)
        raise click.UsageError(
            f"{f'{said!r} is not a change' if said else 'Ranks of a job are changed together'}: write like {LIKE}."
        )
    if explicit_options(*_CHANGES, "lists", "trace") or not is_chosen:
        raise click.UsageError(
            f"like {LIKE} needs --rank, --ranks or --host, and cannot be combined with another change."
        )


def _check_platform(like: tuple[str, ...], grown: int | None, gpu: str | None) -> None:
    """Raise UsageError where another GPU or number of ranks is combined with what does not go with it."""
    named = "--gpu" if gpu is not None else "--ranks N"
    others = explicit_options(*_CHANGES, "lists", "hosts", *(("ranks",) if grown is None else ()))
    if like or others:
        other = others[0] if others else " ".join(like)
        raise click.UsageError(f"{named} cannot be combined with {other}: ask for one after the other.")
    if gpu is None and (wrong := explicit_options("host_factor")):
        raise click.UsageError(f"{wrong[0]} needs --gpu NAME.")
    if grown is not None and grown < 1:
        raise click.UsageError("--ranks: give at least 1 rank.")
    if grown is None and (wrong := explicit_options("link", "network", "ranks_per_node")):
        raise click.UsageError(f"{wrong[0]} needs --ranks N.")
