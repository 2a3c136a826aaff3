"""traceq tradeoff: throughput and latency of runs at several values of a knob."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from traceq.cli import completion
from traceq.cli._options import FILE, Parsed, document_options, rank_option, read_options_with_logs
from traceq.cli._output import write_view
from traceq.common.units import parse_duration

if TYPE_CHECKING:
    from traceq.app.read_options import ReadOptions, Which
    from traceq.runs.trials.tradeoff import Percentile

_LIMITS = re.compile(r"[1-9][0-9]{0,8}(,[1-9][0-9]{0,8})*")
_GIVEN = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?)=(.+)", re.DOTALL)


def _parse_latency(text: str) -> int:
    """Return the duration in ns. Raises ValueError, which says what is wrong, also for 0."""
    found = parse_duration(text)
    if found <= 0:
        raise ValueError(f"{text} is too short: a step takes some time.")
    return found


def _parse_limits(text: str) -> tuple[int, ...]:
    """Return the limits in "256,512". Raises ValueError, which says what is wrong."""
    if not _LIMITS.fullmatch(text):
        raise ValueError(f"{text!r} is no list of numbers of tokens, as 256,512.")
    return tuple(map(int, text.split(",")))


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
@click.option(
    "--latency-budget",
    type=Parsed("time", _parse_latency),
    help='Longest step, or time between tokens, allowed: "50 ms".',
)
@click.option(
    "--percentile",
    type=click.Choice(("p50", "p95", "p99")),
    default="p95",
    show_default=True,
    help="Which step, or time between tokens, the budget is about.",
)
@click.option(
    "--batched-tokens",
    type=Parsed("limits", _parse_limits),
    metavar="256,512,...",
    help="Of a server: predict what these limits of batched tokens (--max-num-batched-tokens, --chunked-prefill-size) would"
    " give.",
)
@click.option(
    "--max-num-seqs",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --batched-tokens: requests that the server computes at a time. [default: as recorded]",
)
@rank_option("Use")
@read_options_with_logs
@document_options()
@click.option("--plot", type=FILE, metavar="FILE", help="Draw the result as FILE.png (needs matplotlib) or FILE.svg.")
def tradeoff(
    *,
    sources: tuple[str, ...],
    knob: str | None,
    work: str | None,
    latency_budget: int | None,
    percentile: Percentile,
    batched_tokens: tuple[int, ...] | None,
    max_num_seqs: int | None,
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

    With --batched-tokens SOURCE is one trace of a server: its recorded steps say what a step costs, and its requests
    (--with their log) are scheduled anew under each limit.

    \b
    Examples:
      traceq tradeoff 32=b32.duckdb 64=b64.duckdb 128=b128.duckdb
      traceq tradeoff run*.duckdb --knob samples --latency-budget "50 ms" --plot batch.svg
      traceq tradeoff --knob num_workers 0=w0.duckdb 2=w2.duckdb 4=w4.duckdb
      traceq tradeoff server.json --with spans.jsonl --batched-tokens 256,512,1024
    """  # noqa: D301 - click wants the backspace itself
    if batched_tokens is not None:
        if len(sources) > 1 or _GIVEN.fullmatch(sources[0]):
            raise click.UsageError("--batched-tokens is about one recording: name a single SOURCE, without VALUE=.")
        if knob is not None or work is not None or plot is not None:
            raise click.UsageError("--knob, --work and --plot are about several runs, not for --batched-tokens.")
        from traceq.app.batch_limits import predict_batch_limits
        from traceq.runs.batching.limit_study import LimitTerms

        terms = LimitTerms(batched_tokens, max_num_seqs, latency_budget, percentile)
        write_view(predict_batch_limits(sources[0], terms, which, read.with_writes(output)), format_, output)
        return
    if max_num_seqs is not None:
        raise click.UsageError("--max-num-seqs is for --batched-tokens.")
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
