"""The words about the cost of a step as a function of the work in it, and its knee."""

from __future__ import annotations

from collections.abc import Iterator

from traceq.common.units import duration, share
from traceq.reports.document import Block, Heading, Paragraph, Spans
from traceq.reports.tradeoff.words import at, knob, number, per_second
from traceq.runs.tradeoff.tradeoff import Fit, Knee, Tradeoff

_NS_PER_S = 1_000_000_000
_FEWEST = 3

_SHAPES = {"affine": "a straight line", "hinge": "a flat part and a line"}


def curve(found: Tradeoff) -> Iterator[Block]:
    """The section; nothing for a single value or where nothing is compared."""
    setting = found.setting
    if len(found.points) < 2 or len(found.gpus) > 1:  # noqa: PLR2004 - a series
        return
    yield Heading(3, ("What a step costs",), anchor="curve")
    if not setting.is_amount:
        yield Paragraph((knob(setting), " is not an amount of work per step, so there is no curve and no knee."))
    elif found.missed is not None:
        missed = f"the curve misses the measured steps by {share(found.missed)}"
        yield Paragraph((f"Cannot tell: {missed}. There is no knee, and nothing is said about other values.",))
    elif found.fit is None or found.knee is None:
        few = f"a curve needs runs at {_FEWEST} values at least, here are {len(found.points)}"
        yield Paragraph((f"Cannot tell: {few}. Nothing is said about other values.",))
    else:
        yield Paragraph(_cost(found, found.fit))
        yield Paragraph(_error(found.fit))
        yield Paragraph(_knee(found, found.fit, found.knee))


def _cost(found: Tradeoff, fit: Fit) -> Spans:
    low, high = found.points[0].value, found.points[-1].value
    between = f", for values from {number(low)} to {number(high)}."
    fitted, name = fit.curve, knob(found.setting)
    unit = f"{duration(fitted.per_unit_ns)} * "
    line: Spans = (f"{duration(round(fitted.fixed_ns))} + {unit}", name) if fitted.fixed_ns else (unit, name)
    if not fitted.per_unit_ns:
        return (f"A step takes {duration(round(fitted.fixed_ns))}, whatever ", name, f" is{between}")
    if fitted.shape == "hinge":
        until = (fitted.flat_ns - fitted.fixed_ns) / fitted.per_unit_ns
        flat = f"A step takes {duration(round(fitted.flat_ns))} up to about "
        return (flat, name, f" {number(until, rough=True)}, and from there on ", *line, between)
    return ("A step takes ", *line, between)


def _error(fit: Fit) -> Spans:
    others = "".join(f" ({_SHAPES[shape]}: {share(error)})" for shape, error in fit.others.items())
    left_out = f"Fitted without one value at a time, it misses that value by {share(fit.left_out_error)}{others}"
    return (
        f"The curve is {_SHAPES[fit.curve.shape]}. {left_out}, root mean square. ",
        f"Fitted to all, its largest error is {share(fit.largest_error)}.",
    )


def _knee(found: Tradeoff, fit: Fit, knee: Knee) -> Spans:
    setting = found.setting
    tried = f" Of the values that were tried {number(knee.best_tried)} is closest to it."
    if knee.value is None:
        end = found.points[0 if knee.place == "below" else -1].value
        advice = {
            "below": "from there on more work costs more latency than it gains throughput",
            "beyond": "up to there more work gains more throughput than it costs latency; larger values are worth a try",
        }[knee.place]
        side = {"below": "below the smallest", "beyond": "beyond the largest"}[knee.place]
        return (f"The knee is {side} that was tried, ", *at(setting, end), f": {advice}.{_scatter(knee)}")
    ns = fit.curve.at(knee.value)
    return (
        "The knee, where throughput over latency is highest, is at about ",
        knob(setting),
        f" {number(knee.value, rough=True)}{_scatter(knee)}: there a step takes {duration(round(ns))} by the curve",
        f"{_throughput(found, knee.value, ns)}. Beyond it more work costs more latency than it gains throughput.{tried}",
    )


def _throughput(found: Tradeoff, value: float, ns: float) -> str:
    """At the knee, where work grows with the knob."""
    ratios = [point.work / point.value for point in found.points if point.value]
    if not ratios or max(ratios) > min(ratios) * 1.01 or not ns:
        return ""
    throughput = sum(ratios) / len(ratios) * value * _NS_PER_S / ns
    highest = max(point.throughput for point in found.points)
    return f" and {per_second(found.setting, throughput)} are reached, {share(throughput / highest)} of the highest measured"


def _scatter(knee: Knee) -> str:
    if knee.interval is None:
        return ""
    low, high = (None if end is None else number(end, rough=True) for end in knee.interval)
    if knee.place == "within":
        return f" ({low or 'below the smallest'} to {high or 'beyond the largest'}, by the scatter of the steps)"
    if knee.place == "below":
        return f" By the scatter of the steps it may be as high as {high}." if high else ""
    return f" By the scatter of the steps it may be as low as {low}." if low else ""
