"""The words about what a step costs and is made of, its knee, and whether a larger batch could help."""

from __future__ import annotations

from collections.abc import Iterator

from traceq.analysis.categories import in_words
from traceq.common.units import duration, share
from traceq.reports.document import Block, Heading, Items, Name, Paragraph, Spans, Table
from traceq.reports.trials.words import format_factor, format_value, name_knob, name_value, per_second
from traceq.runs.trials.resources import SATURATED
from traceq.runs.trials.tradeoff import CurveFit, Headroom, Knee, StepLimit, StepPart, Tradeoff

_NS_PER_S = 1_000_000_000
_FEWEST = 3

_SHAPES = {"affine": "a straight line", "hinge": "a flat part and a line"}


def compose_curve(found: Tradeoff) -> Iterator[Block]:
    """Yield the section on the fitted curve of the step and its knee; nothing for a single value or different GPUs."""
    setting = found.setting
    if len(found.points) < 2 or len(found.gpus) > 1:  # noqa: PLR2004 - a series
        return
    yield Heading(3, ("What a step costs",), anchor="curve")
    if not setting.is_amount:
        yield Paragraph((name_knob(setting), " is not an amount of work per step, so there is no curve and no knee."))
    elif found.missed is not None:
        missed = f"the curve misses the measured steps by {share(found.missed)}"
        yield Paragraph((f"Cannot tell: {missed}. There is no knee, and nothing can be said about other values.",))
    elif found.fit is None or found.knee is None:
        few = f"a curve needs runs at {_FEWEST} values at least, and there are {len(found.points)}"
        yield Paragraph((f"Cannot tell: {few}. Nothing can be said about other values.",))
    else:
        yield Paragraph(_describe_cost(found, found.fit))
        yield Paragraph(_describe_error(found.fit))
        yield Paragraph(_describe_knee(found, found.fit, found.knee))


def _describe_cost(found: Tradeoff, fit: CurveFit) -> Spans:
    """Return the sentence on the fitted step: a fixed time plus a time per unit of the knob, and the range where it holds."""
    low, high = found.points[0].value, found.points[-1].value
    between = f", for values from {format_value(low)} to {format_value(high)}."
    fitted, name = fit.curve, name_knob(found.setting)
    unit = f"{duration(fitted.per_unit_ns)} * "
    line: Spans = (f"{duration(round(fitted.fixed_ns))} + {unit}", name) if fitted.fixed_ns else (unit, name)
    if not fitted.per_unit_ns:
        return (f"A step takes {duration(round(fitted.fixed_ns))}, whatever ", name, f" is{between}")
    if fitted.shape == "hinge":
        until = (fitted.flat_ns - fitted.fixed_ns) / fitted.per_unit_ns
        flat = f"A step takes {duration(round(fitted.flat_ns))} up to about "
        return (flat, name, f" {format_value(until, rough=True)}, and from there on ", *line, between)
    return ("A step takes ", *line, between)


def _describe_error(fit: CurveFit) -> Spans:
    """Return sentences on the curve's shape, its error when a value is left out of the fit, and its largest error."""
    others = "".join(f" ({_SHAPES[shape]}: {share(error)})" for shape, error in fit.others.items())
    left_out = f"Fitted with one value left out at a time, it misses that value by {share(fit.left_out_error)}{others}"
    return (
        f"The curve is {_SHAPES[fit.curve.shape]}. {left_out}, root mean square. ",
        f"Fitted to all values, its largest error is {share(fit.largest_error)}.",
    )


def _describe_knee(found: Tradeoff, fit: CurveFit, knee: Knee) -> Spans:
    """Return sentences on the knee: its value, step and throughput, or that it is beyond an end of the tried values."""
    setting = found.setting
    tried = f" Of the tried values, {format_value(knee.best_tried)} is closest to it."
    if knee.value is None:
        end = found.points[0 if knee.place == "below" else -1].value
        advice = {
            "below": "from there on, more work costs more latency than it gains throughput",
            "beyond": "up to there, more work gains more throughput than it costs latency; larger values are "
            "worth a try",
        }[knee.place]
        side = {"below": "below the smallest", "beyond": "beyond the largest"}[knee.place]
        return (
            f"The knee is {side} value tried, ",
            *name_value(setting, end),
            f": {advice}.{_describe_scatter(knee)}",
        )
    ns = fit.curve.at(knee.value)
    return (
        "The knee, where throughput over latency is highest, is at about ",
        name_knob(setting),
        f" {format_value(knee.value, rough=True)}{_describe_scatter(knee)}, where a step takes {duration(round(ns))}",
        f" by the curve{_throughput_at_knee(found, knee.value, ns)}.",
        f" Beyond it more work costs more latency than it gains throughput.{tried}",
    )


def _throughput_at_knee(found: Tradeoff, value: float, ns: float) -> str:
    """Return a clause on the throughput at the knee, and its share of the highest measured.

    `value` is the knob's value at the knee, `ns` the step there. Empty unless work is in proportion to the value.
    """
    ratios = [point.work / point.value for point in found.points if point.value]
    if not ratios or max(ratios) > min(ratios) * 1.01 or not ns:
        return ""
    throughput = sum(ratios) / len(ratios) * value * _NS_PER_S / ns
    highest = max(point.throughput for point in found.points)
    return (
        f" and throughput is {per_second(found.setting, throughput)}, {share(throughput / highest)} of the "
        "highest measured"
    )


def _describe_scatter(knee: Knee) -> str:
    """Return the range of the knee by the scatter of the steps, in words; empty without an interval."""
    if knee.interval is None:
        return ""
    low, high = (None if end is None else format_value(end, rough=True) for end in knee.interval)
    if knee.place == "within":
        return f" ({low or 'below the smallest'} to {high or 'beyond the largest'}, by the scatter of the steps)"
    if knee.place == "below":
        return f" Given the scatter of the steps, it may be as high as {high}." if high else ""
    return f" Given the scatter of the steps, it may be as low as {low}." if low else ""


_MOST_COLUMNS = 6
_MOST_REMARKS = 3


def compose_limits(found: Tradeoff) -> Iterator[Block]:
    """Yield the section on what limits the step: the resource, its parts by category, and the headroom."""
    if not found.points and not found.headroom:
        return
    yield Heading(3, ("What limits it",), anchor="limit")
    if found.points:
        yield Paragraph(
            ("Cannot tell: a run has no GPU ledger.",) if found.limit is None else _describe_limit(found, found.limit)
        )
    if found.parts:
        yield _tabulate_parts(found)
    if found.setting.is_amount or len(found.points) <= 1:
        several = len(found.headroom) > 1
        remarks = [
            (*(_name_run(found, room) if several else ()), *_describe_headroom(found, room)) for room in found.headroom
        ]
        yield Items(tuple(dict.fromkeys(remarks))[:_MOST_REMARKS])


def _name_run(found: Tradeoff, each: Headroom) -> Spans:
    """Return the beginning of a remark: the run's file, and the knob's value if known."""
    where = () if each.value is None else (", ", *name_value(found.setting, each.value))
    return (Name(each.run.file), *where, ": ")


def headroom_verdict(found: Tradeoff) -> Spans:
    """Return the verdict on runs at a single value: whether the GPU is saturated, and what a larger batch could give."""
    largest = found.headroom[0]
    where = () if largest.value is None else (" at ", *name_value(found.setting, largest.value))
    if any(headroom.saturated is not None for headroom in found.headroom):
        return ("The GPU is saturated", *where, ": a larger batch will not help.")
    if any(headroom.reason is not None or headroom.bound is None for headroom in found.headroom):
        return ("Cannot tell whether the GPU is saturated", *where, ".")
    bound = max(headroom.bound or 1.0 for headroom in found.headroom)
    state = "nearly" if bound <= 1 / SATURATED else "not"
    gain = (
        f"a larger batch could give at most {format_factor(bound)} the throughput, if compute grows in "
        "proportion to it."
    )
    return (f"The GPU is {state} saturated", *where, f": {gain}")


def _describe_limit(found: Tradeoff, limit: StepLimit) -> Spans:
    several = len(found.points) > 1
    of_all = "the largest value tried" if not found.left_out else "the largest value that counts"
    start = ("At ", *name_value(found.setting, limit.point.value), f", {of_all},") if several else ("Here",)
    if limit.compute_share is None:
        most = (f"; the largest part of a step, {share(limit.share)}, is ", *_name_category(limit.category or ""))
        return (*start, " no GPU works", *most, ".")
    computes = f" the GPU computes {share(limit.compute_share)} of the step"
    if limit.is_compute:
        return (*start, computes, ": GPU compute is the limit.")
    if limit.compute_share >= SATURATED:
        grows = " , so it may not be the limit."
        return (*start, computes, ", but that time does not grow with ", name_knob(found.setting), grows)
    if limit.category is None:
        return (*start, computes, ".")
    return (
        *start,
        computes,
        f"; the largest other part, {share(limit.share)}, is ",
        *_name_category(limit.category),
        ".",
    )


def _name_category(category: str) -> Spans:
    """Return the category in words with its name in tables, as "idle: data (idle_data)"."""
    words = in_words(category)
    return (Name(category),) if words == category else (f"{words} (", Name(category), ")")


def _tabulate_parts(found: Tradeoff) -> Table:
    """Return a table of the time per step, a row for each category and a column for each value, and how each part grows.

    Of more than 6 values, the ends and some between are shown.
    """
    count = len(found.points)
    places = sorted({round(place * (count - 1) / max(_MOST_COLUMNS - 1, 1)) for place in range(_MOST_COLUMNS)})
    grows = found.setting.is_amount and count > 1
    values = [format_value(found.points[place].value) for place in places]
    columns = (
        "per step",
        *(f"at {value}" if value != "-" else "time" for value in values),
        *(("grows",) if grows else ()),
    )
    rows = tuple(
        (
            Name(part.category),
            *(duration(round(part.ns[place])) for place in places),
            *((_describe_growth(found, part),) if grows else ()),
        )
        for part in found.parts
    )
    return Table(columns, rows, text_columns=(0, len(columns) - 1) if grows else (0,))


def _describe_growth(found: Tradeoff, part: StepPart) -> str:
    """Return how the part grows with the knob, as "in proportion"."""
    if part.growth is None:
        return "not at every value"
    return {
        "shrinks": "it shrinks",
        "constant": "constant per step",
        "slower": f"slower than {name_knob(found.setting)}",
        "proportional": "in proportion",
        "faster": f"faster than {name_knob(found.setting)}",
    }[part.growth]


def _describe_headroom(found: Tradeoff, each: Headroom) -> Spans:
    """Return a remark on whether the GPU is saturated at a run's value, and on the most that a larger batch could give."""
    several = len(found.points) > 1
    if each.saturated is not None:
        return (f"Saturated, a larger batch will not help: {each.saturated}",)
    if each.reason is not None:
        return (f"Cannot tell whether the GPU is saturated: {each.reason}.",)
    if several and found.limit is not None and each.bound is None:
        return _explain_unbounded(found, each)
    if each.bound is None:
        return ("Cannot tell whether the GPU is saturated: no GPU work was recorded.",)
    state = "Nearly saturated" if each.bound <= 1 / SATURATED else "Not saturated"
    bound = (
        f"throughput could reach {format_factor(each.bound)} its present value. This is an upper bound, because "
        "other parts grow as well."
    )
    if several:
        so = " Compute was measured to grow in proportion. If that continues and everything else stays the same, "
        return (f"{state} at ", *name_value(found.setting, each.value), f".{so}{bound}")
    return (
        f"{state}. If compute grows in proportion to the batch and everything else stays the same, {bound} ",
        "Kernels that do not fill the GPU grow more slowly, so the gain can be larger.",
    )


def _explain_unbounded(found: Tradeoff, each: Headroom) -> Spans:
    """Return a sentence on why the gain from a larger value has no upper bound."""
    what = "The gain from a larger value has no upper bound: "
    if each.exponent is None:
        return (f"{what}how compute grows with ", name_knob(found.setting), " could not be measured.")
    power = round(each.exponent, 2) + 0.0  # no minus before a zero
    return (f"{what}compute was measured to grow as ", name_knob(found.setting), f"^{power:.2f}, not in proportion.")
