"""traceq tradeoff: throughput and latency of runs at several values of a knob."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from traceq.cli import completion
from traceq.cli._options import FILE, Parsed, document_options, rank_option, read_options
from traceq.cli._output import write_view
from traceq.common.units import parse_duration

if TYPE_CHECKING:
    from traceq.app.read_options import ReadOptions, Which
    from traceq.runs.trials.tradeoff import Percentile

_GIVEN = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?)=(.+)", re.DOTALL)


def _parse_latency(text: str) -> int:
    """Return the duration in ns. Raises ValueError, which says what is wrong, also for 0."""
    found = parse_duration(text)
    if found <= 0:
        raise ValueError(f"{text} is too short: a step takes some time.")
    return found


@click.command(short_help="Weigh throughput against latency, for example over batch sizes.")
@click.argument(
    "sources", nargs=-1, required=True, metavar="[VALUE=]SOURCE...", shell_complete=completion.complete_files
)
@click.option(
    "--knob", metavar="NAME", help="Parameter that differs. [default: batch_size, samples, tokens or sequences]"
)
@click.option(
    "--work", metavar="KEY", help="What throughput counts: the name of a mark. [default: samples, tokens, the knob]"
)
@click.option("--latency-budget", type=Parsed("time", _parse_latency), help='Longest step allowed: "50 ms".')
@click.option(
    "--percentile",
    type=click.Choice(("p50", "p95", "p99")),
    default="p95",
    show_default=True,
    help="Which step the budget is about.",
)
@rank_option("Use")
@read_options
@document_options()
@click.option("--plot", type=FILE, metavar="FILE", help="Draw the result as FILE.png (needs matplotlib) or FILE.svg.")
def tradeoff(
    *,
    sources: tuple[str, ...],
    knob: str | None,
    work: str | None,
    latency_budget: int | None,
    percentile: Percentile,
    which: Which,
    read: ReadOptions,
    output: Path | None,
    format_: str,
    plot: Path | None,
) -> None:
    """Weigh throughput against latency over the values of a parameter.

    Each SOURCE is a run at one value of a knob such as the batch size: a trace database, what `traceq ingest` accepts,
    or the name of a baseline. VALUE= gives its value by hand; without it the value comes from marks of traceq.annotate
    (samples, tokens), else from the settings of the runs, else from file names like bs64. Runs at one value are pooled.
    With a single run, it says whether a larger batch could help.

    \b
    Examples:
      traceq tradeoff 32=b32.duckdb 64=b64.duckdb 128=b128.duckdb
      traceq tradeoff run*.duckdb --knob samples --latency-budget "50 ms" --plot batch.svg
      traceq tradeoff --knob num_workers 0=w0.duckdb 2=w2.duckdb 4=w4.duckdb
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.tradeoff import tradeoff as trade_off

    view = trade_off(
        _group_sources(sources),
        which,
        read.with_writes(output),
        knob=knob,
        work=work,
        latency_budget=latency_budget,
        percentile=percentile,
        plot=plot,
    )
    write_view(view, format_, output)


def _group_sources(texts: Sequence[str]) -> dict[float, list[str]] | list[str]:
    """Return the sources by their value in VALUE=SOURCE; a plain list if none has a value.

    Raises UsageError if only some have.
    """
    matches = [_GIVEN.fullmatch(text) for text in texts]
    given = [match for match in matches if match is not None]
    if not given:
        return list(texts)
    if len(given) < len(texts):
        raise click.UsageError("Give VALUE=SOURCE for all sources or for none.")
    values: dict[float, list[str]] = {}
    for match in given:
        values.setdefault(float(match[1]), []).append(match[2])
    return values
