"""The words of a comparison: the verdict, what the change is made of, and what was compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from traceq.comparisons.kernel_name import canonical
from traceq.reports.category_words import in_words
from traceq.reports.charts import waterfall
from traceq.reports.document import (
    Block,
    Facts,
    Heading,
    Items,
    Literal,
    Name,
    Paragraph,
    Picture,
    Spans,
    Table,
    Tracks,
    Verdict,
    Warn,
)
from traceq.reports.names import shortened
from traceq.units import change, change_share, count, duration, maybe, rate, share, size

if TYPE_CHECKING:
    from traceq.comparisons.comparison import Cause, Change, Comparison, Count, Part, Row, Side
    from traceq.reports.timeline import Timeline
    from traceq.runs.run import FindingKept

_NAME_WIDTH = 48
_LISTED = 5
_TAKEN_APART = 0.03
_MOST_TAKEN_APART = 5

# Sentences that say how a part was found again; "same" needs none.
_KINDS = {
    "same": "",
    "resized": "other launch shape or size",
    "renamed": "renamed",
    "re-tuned": "re-tuned",
    "new": "new",
    "vanished": "vanished",
}
_BEGINNINGS = {
    "regression": "Regression: ",
    "improvement": "Improvement: ",
    "no change": "No change: ",
    "cannot tell": "Cannot tell: ",
}


def compose_comparison(
    comparison: Comparison, top: int, timelines: Sequence[Timeline] = (), *, draws: bool = False
) -> Iterator[Block]:
    """The comparison, with at most `top` rows in each table; `timelines` are the typical step of either side."""
    yield Heading(1, ("traceq compare",))
    yield Heading(2, _title(comparison), anchor="comparison")
    yield Verdict(_verdict(comparison))
    yield from _because(comparison)
    if comparison.change is not None:
        yield from _overview(comparison, comparison.change)
        yield from _causes(comparison, comparison.change, top)
        yield from _kernels(comparison, top)
        yield from _rows("By operator", "operator", comparison.operators, top)
        yield from _rows("By phase", "phase", comparison.phases, top)
        yield from _counts(comparison.counts)
    yield from _findings(comparison)
    if draws and timelines:
        yield Heading(3, ("Typical steps over time, to one scale",), anchor="timelines")
        yield from map(Tracks, timelines)
    yield from _compared(comparison)


def _title(comparison: Comparison) -> Spans:
    return (*_files(comparison.base), " (base) against ", *_files(comparison.new), " (new)")


def _files(side: Side) -> Spans:
    if not side.runs:
        return ("nothing",)
    first = Name(side.runs[0].file)
    return (first,) if len(side.runs) == 1 else (first, f" and {len(side.runs) - 1} more")


def _verdict(comparison: Comparison) -> Spans:
    total = comparison.change
    begins = _BEGINNINGS[comparison.verdict]
    if comparison.verdict == "cannot tell":
        return (begins, *_spans(comparison.reasons[0] if comparison.reasons else "nothing to compare"), ".")
    if total is None:
        raise ValueError(f"a verdict without a change: {comparison.verdict}")
    if total.delta_ns == 0:
        said = f"a step takes {duration(total.base_ns)} on both sides"
    else:
        way = "longer" if total.delta_ns > 0 else "shorter"
        by = "" if total.share is None else f" ({share(abs(total.share))})"
        said = (
            f"a step takes {duration(abs(total.delta_ns))}{by} {way}, "
            f"{duration(total.base_ns)} before and {duration(total.new_ns)} now"
        )
    return (f"{begins}{said}; {_interval(comparison, total)}{_mostly(comparison, total)}.",)


def _spans(text: str) -> Spans:
    """Reasons name files and shapes, which come from a trace; they may be cut like names."""
    return (shortened(text, 400),)


def _interval(comparison: Comparison, total: Change) -> str:
    if total.interval_ns is None:
        return "how sure that is cannot be told"
    low, high = total.interval_ns
    return f"{_confidence(comparison)} interval {change(low)} to {change(high)}"


def _confidence(comparison: Comparison) -> str:
    return f"{100 * (1 - comparison.level):g} %"


def _mostly(comparison: Comparison, total: Change) -> str:
    """The cause that explains most of the change, when it is one."""
    if comparison.verdict not in ("regression", "improvement"):
        return ""
    sign = 1 if total.delta_ns > 0 else -1
    first = max(comparison.causes, key=lambda cause: sign * cause.delta_ns)
    words = "Most of it" if abs(first.delta_ns) * 2 >= abs(total.delta_ns) else "The largest part"
    return f". {words}: {in_words(first.category)} ({first.category}, {change(first.delta_ns)})"


def _because(comparison: Comparison) -> Iterator[Block]:
    for obstacle in comparison.obstacles:
        yield Warn(("The sides cannot be compared as they are: ", *_spans(obstacle), "."))
    others = [reason for reason in comparison.reasons if reason not in comparison.obstacles]
    if others and comparison.verdict != "cannot tell":
        yield Paragraph((f"{others[0][0].upper()}{others[0][1:]}.",))
    total, other = comparison.change, comparison.other
    if comparison.verdict == "cannot tell" and total is not None:
        yield Paragraph(
            (
                "Measured, without a verdict: ",
                f"{duration(total.base_ns)} against {duration(total.new_ns)} a step, ",
                f"{change(total.delta_ns)} ({change_share(total.share)}); {_interval(comparison, total)}.",
            )
        )
    if total is not None and other is not None and _disagree(comparison, total, other):
        yield Warn((_disagreement(comparison, total, other),))


def _disagree(comparison: Comparison, total: Change, other: Change) -> bool:
    """Whether the other statistic is sure of a change that matters and that this one does not show."""
    if other.interval_ns is None or other.interval_ns[0] <= 0 <= other.interval_ns[1] or other.p is None:
        return False
    matters = abs(other.delta_ns) >= comparison.floor_share * other.base_ns and other.p <= comparison.level
    is_silent = comparison.verdict == "no change" or (comparison.verdict == "cannot tell" and comparison.comparable)
    return matters and (is_silent or other.delta_ns * total.delta_ns < 0)


def _disagreement(comparison: Comparison, total: Change, other: Change) -> str:
    names = {"typical": "the typical step", "mean": "the mean of all steps"}
    says = "goes the other way" if other.delta_ns * total.delta_ns < 0 else "changed and the other did not"
    return (
        f"{names[other.statistic].capitalize()} {says}: {change(other.delta_ns)} "
        f"({change_share(other.share)}), {_interval(comparison, other)}. A few steps that are much longer do that; "
        f"--by {other.statistic} says what they are made of."
    )


def _overview(comparison: Comparison, total: Change) -> Iterator[Block]:
    if waterfall.applies(comparison):
        yield Picture("waterfall", waterfall.alt(comparison), partial(waterfall.waterfall, comparison))
    rows = [_changed(each) for each in (total, comparison.other) if each is not None]
    for name, quantile in (("median", 0.5), ("p95", 0.95), ("longest", 1.0)):
        both = [_quantile(side, quantile) for side in (comparison.base, comparison.new)]
        rows.append(_row(name, both[0], both[1]))
    yield Table(("step", "base", "new", "change", "in per cent"), tuple(rows))


def _changed(each: Change) -> tuple[str, ...]:
    return _row(each.statistic, each.base_ns, each.new_ns)


def _row(name: str, base: float, new: float) -> tuple[str, ...]:
    return (
        name,
        duration(base),
        duration(new),
        change(new - base),
        change_share((new - base) / base if base else None),
    )


def _quantile(side: Side, quantile: float) -> int:
    durations = [step.dur for run in side.runs for step in run.counted]
    return round(float(np.quantile(durations, quantile)))


def _causes(comparison: Comparison, total: Change, top: int) -> Iterator[Block]:
    yield Heading(3, ("What the change is made of",), anchor="causes")
    yield Paragraph(
        ("Where the time of a step goes on the GPU, on both sides. The changes add up to that of the step exactly.",)
    )
    rows: list[tuple[str, ...]] = [
        (
            Literal(cause.category),
            duration(cause.base_ns),
            duration(cause.new_ns),
            change(cause.delta_ns),
            _between(cause),
        )
        for cause in comparison.causes
    ]
    rows.append(("sum", duration(total.base_ns), duration(total.new_ns), change(total.delta_ns), _between(total)))
    interval = f"{_confidence(comparison)} interval"
    yield Table(("category", "base", "new", "change", interval), tuple(rows), text_columns=(0,))
    for cause in _worth_it(comparison, total):
        yield from _inside(cause, top)


def _between(each: Cause | Change) -> str:
    if each.interval_ns is None:
        return "-"
    return f"{change(each.interval_ns[0])} to {change(each.interval_ns[1])}"


def _worth_it(comparison: Comparison, total: Change) -> list[Cause]:
    """The categories to be taken apart: those that changed by a part of the step that matters."""
    least = max(_TAKEN_APART * abs(total.delta_ns), comparison.floor_share * total.base_ns / 2, 1)
    found = [cause for cause in comparison.causes if abs(cause.delta_ns) >= least and cause.parts]
    return found[:_MOST_TAKEN_APART]


def _inside(cause: Cause, top: int) -> Iterator[Block]:
    yield Heading(4, ("Inside ", Literal(cause.category), f", {change(cause.delta_ns)}"))
    shown = [part for part in cause.parts if part.delta_ns][:top]
    rows = [_part(part) for part in shown]
    rest = cause.delta_ns - sum(part.delta_ns for part in shown)
    if len(shown) < len(cause.parts) and rest:
        base = cause.base_ns - sum(part.base_ns for part in shown)
        rows.append(
            (
                f"{count(len(cause.parts) - len(shown))} others",
                "",
                "",
                duration(base),
                duration(base + rest),
                change(rest),
            )
        )
    yield Table(("what", "matched", "a step", "base", "new", "change"), tuple(rows), text_columns=(0, 1))


def _part(part: Part) -> tuple[str, ...]:
    counts = f"{_number(part.base_count)} -> {_number(part.new_count)}"
    return (
        _named(part),
        _KINDS[part.kind],
        counts if part.base_count or part.new_count else "",
        duration(part.base_ns) if part.kind != "new" else "-",
        duration(part.new_ns) if part.kind != "vanished" else "-",
        change(part.delta_ns),
    )


def _named(part: Part) -> str:
    if part.name is None:
        return "not told apart"
    names = part.new_names or part.base_names
    return Name(_names(names, part.category) + (f" {part.shape}" if part.shape else ""))


def _names(names: Sequence[str], category: str) -> str:
    """The first name, of a kernel what tells it from others, and how many more there are."""
    if not names:
        return "-"
    first = canonical(names[0]) if category == "compute" else names[0]
    more = f" +{len(names) - 1}" if len(names) > 1 else ""
    return shortened(first, _NAME_WIDTH) + more


def _number(value: float) -> str:
    return count(round(value)) if abs(value - round(value)) < 1e-9 else rate(value)  # noqa: PLR2004 - rounding of floats


def _kernels(comparison: Comparison, top: int) -> Iterator[Block]:
    """Kernels that are not what they were."""
    changed = [
        part
        for cause in comparison.causes
        if cause.category == "compute"
        for part in cause.parts
        if part.kind != "same"
    ]
    if not changed:
        return
    yield Heading(3, ("Kernels that are others than before",), anchor="kernels")
    numbers = {
        kind: sum(part.kind == kind for part in changed)
        for kind in ("new", "vanished", "re-tuned", "renamed", "resized")
    }
    yield Paragraph((", ".join(f"{count(number)} {kind}" for kind, number in numbers.items() if number) + ".",))
    rows = [
        (
            Name(_names(part.base_names, part.category)),
            Name(_names(part.new_names, part.category)),
            _KINDS[part.kind],
            Name(part.operator) if part.operator else "-",
            change(part.delta_ns),
        )
        for part in sorted(changed, key=lambda part: -max(part.base_ns, part.new_ns))[:top]
    ]
    yield Table(("base", "new", "how", "operator", "change"), tuple(rows), text_columns=(0, 1, 2, 3))
    if len(changed) > top:
        yield Paragraph((f"... and {count(len(changed) - top)} more.",))


def _rows(title: str, what: str, rows: Sequence[Row], top: int) -> Iterator[Block]:
    if not any(row.delta_ns for row in rows):
        return
    yield Heading(3, (title,))
    yield Paragraph(
        (f"Work of the GPU by the {what} that launched it: another cut through the same time, idle time left out.",)
    )
    shown = [
        (
            Name(row.name) if row.name is not None else f"no {what} known",
            f"{_number(row.base_count)} -> {_number(row.new_count)}",
            duration(row.base_ns),
            duration(row.new_ns),
            change(row.delta_ns),
        )
        for row in rows[:top]
    ]
    if len(rows) > top:
        others = rows[top:]
        both = [sum(getattr(row, name) for row in others) for name in ("base_ns", "new_ns", "delta_ns")]
        shown.append((f"{count(len(others))} others", "", duration(both[0]), duration(both[1]), change(both[2])))
    yield Table((what, "slices a step", "base", "new", "change"), tuple(shown))


def _counts(counts: Sequence[Count]) -> Iterator[Block]:
    if not counts:
        return
    yield Heading(3, ("How many a step",))
    rows = [
        (
            each.what,
            *(size(round(value)) if each.unit == "bytes" else _number(value) for value in (each.base, each.new)),
            change_share((each.new - each.base) / each.base if each.base else None),
        )
        for each in counts
    ]
    yield Table(("what", "base", "new", "change"), tuple(rows))


def _findings(comparison: Comparison) -> Iterator[Block]:
    if not comparison.findings_new and not comparison.findings_gone:
        return
    yield Heading(3, ("Findings that come and go",))
    yield Items(
        (
            *(("gone: ", *_finding(each)) for each in comparison.findings_gone[:_LISTED]),
            *(("new: ", *_finding(each)) for each in comparison.findings_new[:_LISTED]),
        )
    )


def _finding(finding: FindingKept) -> Spans:
    return (
        f"{finding.title} (",
        Literal(finding.rule),
        f"), {duration(finding.saving_ns)} a step likely to be won, {finding.confidence} confidence",
    )


def _compared(comparison: Comparison) -> Iterator[Block]:
    yield Heading(3, ("What was compared",))
    for name, side in (("base", comparison.base), ("new", comparison.new)):
        if side.runs:
            yield Heading(4, (name,))
            yield Facts(tuple(_facts(side)))
    if comparison.remarks:
        yield Paragraph(("To be known before a difference is believed:",))
        yield Items(tuple(_spans(remark) for remark in comparison.remarks))
    yield Paragraph((_method(comparison),))


def _facts(side: Side) -> Iterator[tuple[str, Spans]]:
    first = side.runs[0]
    files = [Name(run.file) for run in side.runs[:_LISTED]]
    yield "files", tuple(span for number, file in enumerate(files) for span in ((", ", file) if number else (file,)))
    if len(side.runs) > _LISTED:
        yield "and", (f"{len(side.runs) - _LISTED} more",)
    gpus = sorted({run.device_name or "name not in the trace" for run in side.runs})
    yield "GPU", (Name(", ".join(gpus)),)
    producer = " ".join(filter(None, (first.producer or first.format, first.producer_version)))
    yield "profiler", (Name(producer),)
    if first.rank is not None or first.world_size is not None:
        yield "rank", (f"{maybe(count, first.rank)} of {maybe(count, first.world_size)}",)
    found_by = Name(first.step_source) if first.step_source else "nothing"
    yield "steps", (f"{count(side.counted)} counted, {count(side.excluded)} left out; found by ", found_by)
    for key, value in first.payload.items():
        yield f"{key} a step", (rate(value),)


def _method(comparison: Comparison) -> str:
    total = comparison.change
    statistic = total.statistic if total else "typical"
    what = (
        "A typical step is the mean of the counted steps without the shortest and the longest quarter of each run"
        if statistic == "typical"
        else "A step is the mean of all counted steps of each run"
    )
    return (
        f"{what}; runs of a side count the same. The interval is drawn by resampling steps and runs, p by dealing steps to "
        f"the sides at random. A change counts from {share(comparison.floor_share)} of the base, at p of "
        f"{comparison.level:g} or less."
    )
