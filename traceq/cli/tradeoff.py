"""traceq tradeoff: throughput and latency of runs at several values of a knob."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from traceq.cli.blocks import write_blocks
from traceq.cli.ingest import check_regex
from traceq.cli.report import FORMATS, format_of
from traceq.cli.source import write
from traceq.durations import nanoseconds

if TYPE_CHECKING:
    from traceq.runs.run import Run
    from traceq.tradeoffs.tradeoff import Percentile, Taken, Tradeoff

_GIVEN = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?)=(.+)", re.DOTALL)
_PICTURES = (".png", ".svg")


class _Source(NamedTuple):
    """What an argument names: VALUE=SOURCE, or SOURCE alone."""

    value: float | None
    source: str


class _Duration(click.ParamType[int]):
    """A time above 0: 50 ms."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Whole nanoseconds; fails with what is accepted."""
        try:
            found = value if isinstance(value, int) else nanoseconds(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if found <= 0:
            self.fail(f"{value} leaves no time for a step.", param, ctx)
        return found


@click.command(short_help="Say what a larger batch, or more of anything, wins and costs.")
@click.argument("sources", nargs=-1, required=True, metavar="[VALUE=]SOURCE...")
@click.option("--knob", metavar="NAME", help="What differs. [default: batch_size, samples, tokens or sequences]")
@click.option("--work", metavar="KEY", help="What throughput counts, as marked. [default: samples, tokens, the knob]")
@click.option("--latency-budget", "budget", type=_Duration(), metavar="TIME", help='Longest step allowed: "50 ms".')
@click.option(
    "--percentile",
    type=click.Choice(("p50", "p95", "p99")),
    default="p95",
    show_default=True,
    help="Which step the budget is about.",
)
@click.option("--rank", type=click.IntRange(min=0), metavar="N", help="Take this rank. [default: the lowest]")
@click.option("--step-range", metavar="REGEX", help="The annotations whose names match are the steps; for traces only.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write to FILE.")
@click.option("--format", "format_", type=click.Choice(FORMATS), help="[default: by the suffix of -o, else text]")
@click.option(
    "--plot", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Draw it as FILE.png or FILE.svg."
)
def tradeoff(
    *,
    sources: tuple[str, ...],
    knob: str | None,
    work: str | None,
    budget: int | None,
    percentile: Percentile,
    rank: int | None,
    step_range: str | None,
    output: Path | None,
    format_: str | None,
    plot: Path | None,
) -> None:
    """Say what more of something wins in throughput and costs in latency.

    Each SOURCE is a run at one value of a knob such as the batch size: a trace database, what `traceq ingest` accepts,
    or a baseline by name. VALUE= gives its value by hand; without it the marks of traceq.annotate (samples, tokens)
    are taken. Runs at one value are pooled. From one run alone: whether a larger batch could help.

    \b
    Examples:
      traceq tradeoff 32=b32.duckdb 64=b64.duckdb 128=b128.duckdb
      traceq tradeoff run*.duckdb --knob samples --latency-budget "50 ms" --plot batch.png
      traceq tradeoff --knob num_workers 0=w0.duckdb 2=w2.duckdb 4=w4.duckdb
    """  # noqa: D301 - click wants the backspace itself
    name = format_ or format_of(output, default="text")
    given = [_source(each) for each in sources]
    _check(given, knob, output, plot)
    check_regex(step_range)
    runs = _read(given, rank, output, step_range)
    from traceq.tradeoffs.study import trade_off
    from traceq.tradeoffs.tradeoff import Setting
    from traceq.tradeoffs.values import is_amount

    taken, named = _valued(runs, knob)
    counted = _work(taken, named, work)
    found = trade_off(taken, Setting(named, is_amount(taken, named, counted), counted, percentile, budget))
    if plot is not None:
        _draw(found, plot)
    _write(found, name, output)


def _source(text: str) -> _Source:
    match = _GIVEN.fullmatch(text)
    return _Source(None, text) if match is None else _Source(float(match[1]), match[2])


def _check(given: list[_Source], knob: str | None, output: Path | None, plot: Path | None) -> None:
    if len({each.value is None for each in given}) > 1:
        raise click.UsageError("Say VALUE=SOURCE of all sources, or of none: some would have no value.")
    from traceq.cli.runs import check_outputs
    from traceq.tradeoffs.values import AMOUNTS

    if (knob or AMOUNTS[0]) in AMOUNTS and any(each.value == 0 for each in given):
        raise click.UsageError(f"0=SOURCE: a step with {knob or AMOUNTS[0]} 0 does nothing.")
    if plot is not None and plot.suffix.lower() not in _PICTURES:
        raise click.UsageError(f"--plot {plot}: pictures end in {' or '.join(_PICTURES)}.")
    if plot is not None and output is not None and plot.resolve() == output.resolve():
        raise click.UsageError("-o and --plot name the same file.")
    check_outputs((output, plot), [each.source for each in given])


def _read(
    given: list[_Source], rank: int | None, output: Path | None, step_range: str | None
) -> list[tuple[float | None, Run]]:
    from traceq.cli.runs import side

    return [(each.value, run) for each in given for run in side([each.source], rank, output, step_range)]


def _valued(runs: list[tuple[float | None, Run]], knob: str | None) -> tuple[list[Taken], str]:
    """The runs with their values, and what the knob is called."""
    from traceq.tradeoffs.tradeoff import Taken
    from traceq.tradeoffs.values import AMOUNTS, marked, taken_by_marks, usual_knob

    if any(value is not None for value, _ in runs):
        return [Taken(value, run) for value, run in runs], knob or AMOUNTS[0]
    found = [run for _, run in runs]
    chosen = knob or usual_knob(found)
    counted = marked(found)
    if chosen in counted:
        return taken_by_marks(found, chosen), chosen
    if knob is None and len(found) <= 1:
        return [Taken(None, run) for run in found], AMOUNTS[0]
    raise click.UsageError(
        f"The runs have no value: not all have marks of {knob or ', '.join(AMOUNTS)} (all have: {', '.join(counted) or 'none'})."
        " Say 32=SOURCE 64=SOURCE, or mark steps with traceq.annotate.payload(samples=...)."
    )


def _work(taken: list[Taken], knob: str, work: str | None) -> str:
    from traceq.tradeoffs.values import AMOUNTS, STEPS, marked, usual_work

    if work is None:
        return usual_work(taken, knob)
    known = [*marked([each.run for each in taken]), STEPS, *([knob] if knob in AMOUNTS else [])]
    if work not in known:
        raise click.UsageError(
            f"--work {work}: not all runs have marks of it; there is {', '.join(dict.fromkeys(known))}."
        )
    return work


def _draw(found: Tradeoff, plot: Path) -> None:
    from traceq.errors import TraceqError
    from traceq.reports.charts.png import png
    from traceq.reports.charts.tradeoff import chart, svg_file
    from traceq.written import written

    if len(found.points) < 2:  # noqa: PLR2004 - to draw anything between
        raise TraceqError(f"{plot}: not drawn: there are not two values; leave --plot out")
    figure = chart(found)
    with written(plot) as file:
        file.write(svg_file(figure) if plot.suffix.lower() == ".svg" else png(figure))


def _write(found: Tradeoff, name: str, output: Path | None) -> None:
    from traceq.reports.compose_tradeoff import compose_tradeoff
    from traceq.reports.tradeoff_to_json import tradeoff_to_json

    if name == "json":
        write(tradeoff_to_json(found), output)
    else:
        write_blocks(compose_tradeoff(found), name, output)
