"""traceq compare: what changed from one run to another, how sure that is, and what it is made of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from traceq.cli.blocks import write_blocks
from traceq.cli.ingest import check_regex
from traceq.cli.report import FORMATS, format_of
from traceq.cli.runs import check_outputs, every_run, of_rank
from traceq.cli.several import Several
from traceq.cli.share import ShareType
from traceq.cli.source import write

if TYPE_CHECKING:
    import duckdb

    from traceq.comparisons.comparison import Comparison
    from traceq.reports.timeline import Timeline
    from traceq.runs.run import Run


@click.command(cls=Several, short_help="Say what changed from one run to another.")
@click.argument("sources", nargs=-1, metavar="[BASE NEW]")
@click.option("--base", multiple=True, metavar="SOURCE...", help="Runs of the base, pooled.")
@click.option("--new", multiple=True, metavar="SOURCE...", help="Runs to compare with them, pooled.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write to FILE.")
@click.option("--format", "format_", type=click.Choice(FORMATS), help="[default: by the suffix of -o, else text]")
@click.option("--top", type=click.IntRange(min=1), default=10, show_default=True, metavar="N", help="Rows of a table.")
@click.option("--rank", type=click.IntRange(min=0), metavar="N", help="Compare this rank. [default: the lowest]")
@click.option(
    "--by",
    "statistic",
    type=click.Choice(("typical", "mean")),
    default="typical",
    show_default=True,
    help="The step to compare: the middle half of all steps, or all of them.",
)
@click.option("--level", type=float, default=0.02, show_default=True, help="How often chance may pass for a change.")
@click.option("--least", type=ShareType(), default="1%", show_default=True, help="The smallest change to call one.")
@click.option(
    "--sensitivity",
    type=ShareType(),
    default="5%",
    show_default=True,
    help="Say 'no change' only when a change of that size would have been found.",
)
@click.option("--anyway", is_flag=True, help="Give a verdict although GPUs, shapes or settings differ.")
@click.option("--step-range", metavar="REGEX", help="The annotations whose names match are the steps; for traces only.")
def compare(
    *,
    sources: tuple[str, ...],
    base: tuple[str, ...],
    new: tuple[str, ...],
    output: Path | None,
    format_: str | None,
    top: int,
    rank: int | None,
    statistic: Literal["typical", "mean"],
    level: float,
    least: float,
    sensitivity: float,
    anyway: bool,
    step_range: str | None,
) -> None:
    """Say what changed from BASE to NEW, how sure that is, and what the change is made of.

    BASE and NEW are trace databases, what `traceq ingest` accepts, or baselines by name. The verdict is regression,
    improvement, no change, or cannot tell with the reason; the exit status is 0 whatever it is: `traceq check` is
    for gates.

    \b
    Examples:
      traceq compare before.duckdb after.duckdb
      traceq compare main profile.sqlite -o change.html
      traceq compare --base a1.duckdb a2.duckdb --new b1.duckdb b2.duckdb
    """  # noqa: D301 - click wants the backspace itself
    sides = _sides(sources, base, new)
    name = format_ or format_of(output, default="text")
    check_regex(step_range)
    if not 0 < level < 1:
        raise click.BadParameter(f"{level:g} is no probability between 0 and 1.", param_hint="--level")
    check_outputs([output], [*sides[0], *sides[1]])
    from traceq.comparisons.compare import compare as compare_runs

    drawn = name == "html"
    runs = [_read(side, rank, output, step_range, drawn=drawn) for side in sides]
    comparison = compare_runs(
        runs[0][0],
        runs[1][0],
        level=level,
        floor_share=least,
        sensitivity_share=sensitivity,
        statistic=statistic,
        anyway=anyway,
    )
    _write(comparison, name, output, top, _to_one_scale(runs[0][1], runs[1][1]))


def _sides(
    sources: tuple[str, ...], base: tuple[str, ...], new: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if base and new and not sources:
        return base, new
    if not base and not new and len(sources) == 2:  # noqa: PLR2004 - base and new
        return sources[:1], sources[1:]
    raise click.UsageError("Say BASE NEW, or --base SOURCE... --new SOURCE... for several runs a side.")


def _read(
    sources: tuple[str, ...], rank: int | None, output: Path | None, step_range: str | None, *, drawn: bool
) -> tuple[list[Run], Timeline | None]:
    """The runs of a side, and the typical step of the first that is a trace."""
    from traceq.reports.build_timelines import step_timelines
    from traceq.sql.facts import rows

    timelines: list[Timeline] = []
    runs: list[Run] = []

    def draw(connection: duckdb.DuckDBPyConnection, found: list[Run]) -> None:
        chosen = of_rank(found, rank, source)
        if chosen and not timelines:
            trace_id = rows(connection, "trace")[found.index(chosen[0])]["trace_id"]
            timelines.extend(list(step_timelines(connection, trace_id, chosen[0].device))[:1])

    for source in sources:
        runs += of_rank(every_run(source, output, step_range, draw if drawn else None), rank, source)
    return runs, timelines[0] if timelines else None


def _to_one_scale(base: Timeline | None, new: Timeline | None) -> list[Timeline]:
    """Both drawn as wide as the longer of them."""
    named = [(name, timeline) for name, timeline in (("base", base), ("new", new)) if timeline is not None]
    longest = max((timeline.dur for _, timeline in named), default=0)
    return [
        replace(timeline, name=f"{name}-step", title=f"{name}: {timeline.title}", span=longest)
        for name, timeline in named
    ]


def _write(comparison: Comparison, name: str, output: Path | None, top: int, timelines: list[Timeline]) -> None:
    from traceq.reports.compose_comparison import compose_comparison

    if name == "json":
        from traceq.reports.comparison_to_json import comparison_to_json

        write(comparison_to_json(comparison), output)
    else:
        write_blocks(compose_comparison(comparison, top, timelines, draws=name == "html"), name, output)
