"""The page of a history: what moved, since when, what else changed then, and on a page a picture of each quantity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.common.text import printable, shortened
from traceq.common.units import per_cent, some
from traceq.reports.document import (
    Block,
    Facts,
    Fold,
    Heading,
    Items,
    Literal,
    Name,
    Outcome,
    Paragraph,
    Picture,
    Spans,
    Table,
    Verdict,
    make_table,
)
from traceq.reports.history.chart import draw_quantities
from traceq.reports.history.words import (
    describe_series,
    describe_since,
    format_change,
    format_date,
    format_quantity,
    format_slope,
    list_facts,
    name_report,
)
from traceq.runs.history.history import ExplainedChange, ShownHistory
from traceq.runs.history.trend import FEWEST, STEP, QuantityTrend, name_step

# What fits on a first screen of 48 lines.
_MOST_ROWS, _MOST_CHANGES, _MOST_FACTS, _MOST_SERIES = 12, 3, 4, 3
_MOST_NAMES = 3
_PANELS = 12
_VERDICT = 300
# Statistics of the duration of steps.
_STEP = "step."


def compose_history(shown: ShownHistory) -> Iterator[Block]:
    """Yield the first screen: verdict, what the series is, the quantities that moved most, and what else changed."""
    yield from _compose_top(shown)
    listed = _choose_rows(shown.trends)
    yield _tabulate_trends(shown, listed)
    if left := len(shown.trends) - len(listed):
        said = some(left, "more quantity", "more quantities")
        yield Paragraph(
            (f"{said}: ", Literal("--format html"), " draws all, ", Literal("--quantity NAME"), " shows one.")
        )
    yield from _compose_explained(shown, _MOST_CHANGES)
    yield from _compose_others(shown)


def compose_page(shown: ShownHistory) -> Iterator[Block]:
    """Yield the whole page: as the first screen, with a picture of the quantities and all of them in the table."""
    yield from _compose_top(shown)
    for place in range(0, len(shown.trends), _PANELS):
        trends = shown.trends[place : place + _PANELS]
        names = ", ".join(trend.name for trend in trends)
        picture = Picture(
            f"history-{place // _PANELS + 1}",
            f"{names} by report, the levels as lines; the table says the same in numbers.",
            lambda trends=trends: draw_quantities(shown, trends),  # type: ignore[misc]
        )
        yield (
            picture
            if not place
            else Fold((f"{some(len(trends), 'more quantity', 'more quantities')} drawn",), (picture,))
        )
    yield _tabulate_trends(shown, shown.trends)
    yield from _compose_explained(shown, len(shown.trends))
    yield from _compose_others(shown)


def _compose_top(shown: ShownHistory) -> Iterator[Block]:
    yield Heading(1, ("traceq history",))
    yield _write_verdict(shown)
    summary = shown.series.summary
    reports = (
        f"{some(len(shown.series.report_ids), 'report')} from {format_date(shown.first)} to {format_date(shown.last)},"
        f" the last is {name_report(shown.last)}"
    )
    yield Facts((("series", (f"{describe_series(summary)} ({summary.series})",)), ("reports", (reports,))))


def _write_verdict(shown: ShownHistory) -> Verdict:
    """Return the first sentence: how the step moved, else the quantity that got worse most."""
    step = name_step(shown.series)
    of_step = next((trend for trend in shown.trends if trend.name == step), None)
    worst = next((trend for trend in shown.trends if trend.worse and not _is_settled(shown, trend)), None)
    outcome: Outcome = "healthy"
    if of_step is not None and of_step.kind == "too few" and worst is None:
        said = f"Cannot tell: {some(of_step.reports, 'report')}, a trend needs {FEWEST}."
        return Verdict((said,), "cannot tell", label="History")
    lines: tuple[Spans, ...] = ()
    chosen = of_step if of_step is not None and of_step.worse and not _is_settled(shown, of_step) else worst
    if chosen is not None:
        outcome = "problem" if chosen.name in STEP else "look into"
        said = f"{_name_quantity(chosen)} {_describe_move(chosen)}{_describe_when(shown, chosen)}."
        explained = shown.explained.get(chosen.name, ())
        if explained:
            facts = list_facts(explained[-1].facts, 2)
            lines = ((f"What else changed then: {facts}.",),)
    elif of_step is not None and of_step.kind in ("level", "creep"):
        said = f"{_name_quantity(of_step)} {_describe_move(of_step)}{_describe_when(shown, of_step)}."
    else:
        said = f"Nothing got worse by {per_cent(shown.floor)} or more that stands out from chance."
    return Verdict((shortened(said, _VERDICT),), outcome, lines=lines, label="History")


def _is_settled(shown: ShownHistory, trend: QuantityTrend) -> bool:
    """Return whether a person accepted all that became of the quantity."""
    start = shown.starts.get(trend.name, 0)
    if trend.kind == "creep":
        return start == len(shown.series.report_ids) - 1
    return bool(trend.changes) and all(change.number <= start for change in trend.changes)


def _name_quantity(trend: QuantityTrend) -> str:
    return "The step" if trend.name in STEP else printable(trend.name)


def _describe_move(trend: QuantityTrend) -> str:
    """Return how a quantity moved, for a sentence: got slower by ..., creeps by ..."""
    if trend.kind == "creep":
        return f"creeps: {format_slope(trend)}, {format_change(trend)} so far"
    worse, better = ("got slower", "got faster") if trend.name in STEP else ("got worse", "got better")
    word = "changed" if trend.worse is None else worse if trend.worse else better
    return f"{word}: {format_change(trend)}"


def _describe_when(shown: ShownHistory, trend: QuantityTrend) -> str:
    """Return since when a level is as it is, for a sentence; empty for a creep."""
    explained = shown.explained.get(trend.name, ())
    if not explained:
        return ""
    several = f" in {some(len(trend.changes), 'step')}, the last" if len(trend.changes) > 1 else ""
    return f"{several} since {describe_since(explained[-1], is_timed=shown.series.is_timed)}"


def _choose_rows(trends: Sequence[QuantityTrend]) -> Sequence[QuantityTrend]:
    """Return the quantities for the screen, in their order, without further statistics of the step that move as it does."""
    step = next((trend for name in STEP for trend in trends if trend.name == name), None)
    return [
        trend
        for trend in trends
        if step is None or trend is step or trend.kind != step.kind or not trend.name.startswith(_STEP)
    ][:_MOST_ROWS]


def _tabulate_trends(shown: ShownHistory, trends: Sequence[QuantityTrend]) -> Table:
    return make_table(
        trends,
        {
            "quantity": lambda trend: Name(trend.name),
            "now": lambda trend: format_quantity(trend.now, trend.unit),
            "change": format_change,
            "trend": lambda trend: _describe_trend(shown, trend),
        },
        text=(0, 3),
    )


def _describe_trend(shown: ShownHistory, trend: QuantityTrend) -> str:
    """Return the cell on the trend: steady, since when it is at its level, or how fast it creeps."""
    settled = ", accepted" if _is_settled(shown, trend) else ""
    if trend.kind == "too few":
        return f"cannot tell: {some(trend.reports, 'report')}"
    if trend.kind == "creep":
        return f"{format_slope(trend)}{settled}"
    if trend.kind == "steady":
        return "steady"
    explained = shown.explained.get(trend.name, ())
    since = format_date(explained[-1].first_after, is_timed=shown.series.is_timed) if explained else "the last report"
    several = f", {len(trend.changes)} changes" if len(trend.changes) > 1 else ""
    return f"since {since}{several}{settled}"


def _compose_explained(shown: ShownHistory, most: int) -> Iterator[Block]:
    """Yield what else changed at each change, the quantities that changed together in one line, worst first."""
    together: dict[tuple[str, str], tuple[ExplainedChange, list[str]]] = {}
    for trend in shown.trends:
        for explained in shown.explained.get(trend.name, ()):
            window = (explained.last_before.report_id, explained.first_after.report_id)
            together.setdefault(window, (explained, []))[1].append(trend.name)
    if not together:
        return
    yield Heading(2, ("What else changed",), anchor="changed")
    is_timed = shown.series.is_timed
    items = []
    for explained, names in list(together.values())[:most]:
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        accepted = ", accepted" if explained.is_accepted else ""
        items.append(
            (
                f"{format_date(explained.first_after, is_timed=is_timed)} ",
                f"({name_report(explained.first_after)}{accepted}), {', '.join(map(printable, names[:_MOST_NAMES]))}{more}: ",
                list_facts(explained.facts, _MOST_FACTS),
            )
        )
    yield Items(tuple(items))
    if (left := len(together) - most) > 0:
        yield Paragraph((f"{some(left, 'more change')}: ", Literal("--format html"), " shows all."))


def _compose_others(shown: ShownHistory) -> Iterator[Block]:
    """Yield the other series of the history, which are not comparable with this one."""
    if not shown.others:
        return
    yield Heading(2, ("Other series, not comparable with this one",), anchor="others")
    items = [
        (Literal(f"--series {other.series}"), f": {describe_series(other)}, {some(other.reports, 'report')}")
        for other in shown.others[:_MOST_SERIES]
    ]
    yield Items(tuple(items))
    if (left := len(shown.others) - _MOST_SERIES) > 0:
        yield Paragraph((f"{some(left, 'more series', 'more series')}: ", Literal("traceq history list"), "."))
