"""The words about runs at several values of a knob: what to choose, what it costs, and what is in the way of more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from traceq.common.text import printable
from traceq.common.units import count, duration, rate, share, some
from traceq.reports.document import (
    Block,
    Heading,
    Items,
    Literal,
    Name,
    Paragraph,
    Picture,
    Spans,
    Table,
    Verdict,
    Warn,
)
from traceq.reports.trials import chart_values
from traceq.reports.trials.cost import compose_curve, compose_limits, headroom_verdict
from traceq.reports.trials.words import format_factor, format_value, list_values, name_value, per_second
from traceq.runs.trials.pareto import ALIKE
from traceq.runs.trials.points import NS_PER_S
from traceq.runs.trials.tradeoff import BestValues, LeftOut, Point, Tradeoff, Within
from traceq.runs.trials.values import work_of

# Below so many steps a percentile is hardly more than the longest one.
_ENOUGH = {"p95": 20, "p99": 100}
_FEW_STEPS = 5
_LISTED = 5


def compose_tradeoff(found: Tradeoff) -> Iterator[Block]:
    """Yield the whole report of traceq tradeoff: verdict, table of values, chart, curve, choice, budget and limits."""
    setting = found.setting
    has_values = any(point.value is not None for point in found.points)
    yield Heading(1, ("traceq tradeoff",))
    by = (" by ", Name(setting.knob)) if has_values else ()
    yield Heading(2, ("Throughput and latency", *by), anchor="tradeoff")
    is_told = found.points and len(found.gpus) <= 1
    yield Verdict(_say_verdict(found), "healthy" if is_told else "cannot tell", label="Trade-off")
    for spans in _list_warnings(found):
        yield Warn(spans)
    if found.points:
        yield _tabulate_points(found)
        yield Items(tuple((text,) for text in _list_notes(found)))
    if len(found.points) > 1:
        yield Picture("tradeoff", chart_values.describe(found), partial(chart_values.draw, found))
    yield from compose_curve(found)
    yield from _compose_choice(found)
    yield from _compose_budget(found)
    yield from compose_limits(found)


def _say_verdict(found: Tradeoff) -> Spans:
    """Return the verdict: the value within the budget, else the values for throughput and latency, or why there is none."""
    if not found.points:
        return (_nothing_measured(found),)
    if len(found.gpus) > 1:
        return ("Cannot tell: the runs are of different GPUs.",)
    if found.within is not None:
        return _budget_verdict(found, found.within)
    if found.choice is None:
        return headroom_verdict(found)
    return _choice_verdict(found, found.choice)


def _nothing_measured(found: Tradeoff) -> str:
    """Return the sentence on why no run could be measured."""
    whys = {excluded.why for excluded in found.left_out}
    if "other windows" in whys:
        return "Cannot tell: the windows of the runs contain different amounts of work."
    if "cold" in whys:
        return "Cannot tell: every run is cold."
    return "Cannot tell: no run has steps that could be measured."


def _budget_verdict(found: Tradeoff, within: Within) -> Spans:
    """Return the sentence on the best value within the latency budget, or that none fits."""
    setting = found.setting
    budget = f"{setting.percentile} of the step within {duration(setting.budget_ns)}"
    if within.largest is None:
        return (f"None of the tried values keeps the {budget}.",)
    fits_further = within.next is not None and within.next.latency(setting.percentile) <= (setting.budget_ns or 0)
    is_largest = setting.is_amount and not fits_further
    which = "is the largest tried" if is_largest else "has the most throughput of those tried"
    if within.largest.value is None:
        return (f"The run keeps the {budget}.",)
    return (*name_value(setting, within.largest.value, capital=True), f" {which} that keeps the {budget}.")


def _choice_verdict(found: Tradeoff, choice: BestValues) -> Spans:
    """Return sentences on the values for throughput and for latency, the knee, and values left out as cold."""
    setting = found.setting
    knee = ""
    if found.knee is not None:
        where = {
            "below": "below the smallest value tried",
            "within": f"at about {format_value(found.knee.value or 0.0, rough=True)}",
            "beyond": "beyond the largest value tried",
        }[found.knee.place]
        knee = f" The knee is {where}."
    cold = [
        excluded.taken.value
        for excluded in found.left_out
        if excluded.why == "cold" and excluded.taken.value is not None
    ]
    if cold:
        knee += f" {list_values(sorted(cold))} {'is' if len(cold) == 1 else 'are'} left out as cold."
    if choice.latency is choice.throughput:
        return (
            *name_value(setting, choice.latency.value, capital=True),
            f" is best for both latency and throughput.{knee}",
        )
    return (
        "For throughput take ",
        *name_value(setting, choice.throughput.value),
        f" ({per_second(setting, choice.throughput.throughput)}), for latency ",
        f"{format_value(choice.latency.value)} ({duration(round(choice.latency.typical_ns))} per step).{knee}",
    )


def _list_warnings(found: Tradeoff) -> Iterator[Spans]:
    """Yield warnings: runs left out and why, captures without steps, different GPUs, and other knobs that differ."""
    for why, text in (
        ("no steps", "no steps were found in them, but in other runs there are some"),
        ("no counted steps", "they have no steps that count, or steps of zero length"),
        (
            "other windows",
            ("without steps, each window counts as one step, and these have different numbers of launches"),
        ),
    ):
        files = [excluded.taken.run.file for excluded in found.left_out if excluded.why == why]
        if files:
            yield ("Left out: ", *_list_names(files), f": {text}. Mark steps: ", Literal("traceq.annotate.step()"), ".")
    yield from (_explain_cold(found, excluded) for excluded in found.left_out if excluded.why == "cold")
    if found.launches is not None:
        least, most = found.launches
        hold = count(least) if least == most else f"{count(least)} to {count(most)}"
        what = "launches" if found.limit is not None and found.limit.compute_share is not None else "operators"
        valued = any(point.value is not None for point in found.points)
        yield (
            f"No steps were found, so the window of each capture counts as one step ({hold} {what}).",
            " Work per second is right if each window contains the work of its value exactly once." if valued else "",
        )
    if len(found.gpus) > 1:
        yield (
            "The runs are of ",
            *_list_names(found.gpus),
            ", so differences may be due to the GPU. Compare runs on one kind of GPU.",
        )
    for what, values in found.differs:
        yield ("Not only ", Name(found.setting.knob), f" differs: {what}: ", *_list_names(values), ".")
    if len(found.points) == 1 and len(found.points[0].runs) > 1:
        yield (f"All {len(found.points[0].runs)} runs are at the same value, so there is no trade-off.",)


def _explain_cold(found: Tradeoff, left_out: LeftOut) -> Spans:
    """Return sentences on why a cold run is left out, and on its estimated step and throughput when warm."""
    run, setting, warm = left_out.taken.run, found.setting, left_out.warm_ns or 0
    whole = sum(step.dur for step in run.counted)
    work = work_of(left_out.taken, setting.knob, setting.work)
    would = (
        f" Without it, a step would take {duration(warm)}, {per_second(setting, work * NS_PER_S / warm)}. This "
        "estimate is not used in choices or the curve."
        if warm > 0
        else ""
    )
    return (
        "Left out: ",
        *name_value(setting, left_out.taken.value),
        " (",
        Name(run.file),
        (
            f"): it is cold. {duration(run.start_up_ns)} of {duration(whole)} is start-up (contexts, loading and "
            "compiling code)."
        ),
        f"{would} Record it after an unrecorded warm-up pass.",
    )


def _list_names(texts: Sequence[str]) -> Iterator[str]:
    """Yield text pieces with up to 5 names, separated by commas, and the number of the others."""
    for place, text in enumerate(texts[:_LISTED]):
        yield from ((", ",) if place else ())
        yield Name(text)
    if len(texts) > _LISTED:
        yield f" and {len(texts) - _LISTED} more"


def _tabulate_points(found: Tradeoff) -> Table:
    """Return a table with a row for each value: steps, typical step, percentiles, throughput and its interval."""
    setting = found.setting
    several = any(len(point.runs) > 1 for point in found.points)
    has_values = any(point.value is not None for point in found.points)
    columns = (
        *((printable(setting.knob),) if has_values else ()),
        *(("runs",) if several else ()),
        "steps",
        "typical",
        "p50",
        "p95",
        "p99",
        per_second(setting),
        "95 % interval",
    )
    rows = tuple(
        (
            *((format_value(point.value),) if has_values else ()),
            *((count(len(point.runs)),) if several else ()),
            count(point.steps),
            *(duration(round(ns)) for ns in (point.typical_ns, point.p50_ns, point.p95_ns, point.p99_ns)),
            rate(point.throughput),
            " to ".join(map(rate, point.throughput_interval)) if point.throughput_interval else "-",
        )
        for point in found.points
    )
    return Table(columns, rows, text_columns=())


_VALUES_FROM = {
    "marks": "Values are those that the program marked.",
    "snapshots": "Values come from the settings of the runs.",
    "names": "Values come from the file names.",
}


def _list_notes(found: Tradeoff) -> Iterator[str]:
    """Yield sentences on the table: where values are from, what a typical step is, few steps, left-out steps, intervals."""
    if found.setting.values_from in _VALUES_FROM and len(found.points) > 1:
        yield _VALUES_FROM[found.setting.values_from]
    yield "The typical step is the mean of the middle half of the counted steps; throughput is work per typical step."
    fewest = min(point.steps for point in found.points)
    few = [f"{name} of fewer than {enough}" for name, enough in _ENOUGH.items() if fewest < enough]
    if few:
        yield f"A {' and a '.join(few)} steps says little more than the longest one."
    excluded = sum(point.excluded for point in found.points)
    if excluded:
        yield f"{some(excluded, 'step does', 'steps do')} not count: warm-up, or cut off by the capture."
    unsure = [point for point in found.points if point.throughput_interval is None]
    if unsure:
        where = "" if unsure[0].value is None else f" at {list_values([point.value or 0.0 for point in unsure])}"
        yield f"No interval{where}: too few steps to measure their scatter."
    elif fewest < _FEW_STEPS:
        yield f"Intervals from fewer than {_FEW_STEPS} steps are rough."
    if found.between_runs:
        yield "Intervals include the differences between runs at the same value."
    elif len(unsure) < len(found.points):
        yield (
            "Intervals include only the scatter of steps; runs differ more. Several runs at one value would "
            "measure that."
        )
    if any(run.world_size and run.world_size > 1 for point in found.points for run in point.runs):
        yield "Work and throughput are those of one rank."


def _compose_choice(found: Tradeoff) -> Iterator[Block]:
    """Yield the section on which value to choose for latency and for throughput; nothing without a choice."""
    choice, setting = found.choice, found.setting
    if choice is None:
        return
    yield Heading(3, ("What to choose",), anchor="choice")
    if choice.latency is choice.throughput:
        best = choice.latency
        numbers = f"{duration(round(best.typical_ns))} per step, {per_second(setting, best.throughput)}"
        yield Paragraph((*name_value(setting, best.value, capital=True), f" is best for both: {numbers}."))
    else:
        yield Items(tuple(_list_goals(found, choice)))
    remarks = tuple((text,) for text in (*_list_dominated(found), *_list_alike(choice)))
    if remarks:
        yield Items(remarks)


def _list_goals(found: Tradeoff, choice: BestValues) -> Iterator[Spans]:
    """Yield a line on the value for latency and one on the value for throughput, each with what it loses."""
    setting = found.setting
    fast, much = choice.latency, choice.throughput
    lost = 1 - fast.throughput / choice.throughput_top.throughput if choice.throughput_top.throughput else 0.0
    yield (
        "Latency: ",
        *name_value(setting, fast.value),
        f", {duration(round(fast.typical_ns))} per step. It gives {per_second(setting, fast.throughput)},",
        f" {share(lost)} below the highest throughput.",
    )
    yield (
        "Throughput: ",
        *name_value(setting, much.value),
        f", {per_second(setting, much.throughput)}. Its step takes {duration(round(much.typical_ns))},",
        f" {format_factor(much.typical_ns / choice.latency_top.typical_ns)} the shortest.",
    )


def _list_dominated(found: Tradeoff) -> Iterator[str]:
    """Yield a sentence for each of up to 5 values that another beats in both step and throughput."""
    for point, by in found.dominated[:_LISTED]:
        fast, much = point.typical_ns / by.typical_ns, by.throughput / point.throughput if point.throughput else 0.0
        gains = f"steps {share(1 - 1 / fast)} shorter" if fast >= 1 / (1 - ALIKE) else "steps as short"
        more = f"throughput {format_factor(much)} as high" if much >= 1 / (1 - ALIKE) else "as much throughput"
        yield f"{format_value(point.value)} is never the better choice: {format_value(by.value)} has {gains} and {more}."


def _list_alike(choice: BestValues) -> Iterator[str]:
    """Yield sentences on values that cannot be told from the best, for latency and for throughput."""
    text = "do not differ significantly, or by less than 1 %"
    if len(choice.latency_alike) > 1 and choice.latency is not choice.throughput:
        yield (
            f"The shortest steps, at {list_values(choice.latency_alike)}, {text}; the one with the highest "
            "throughput is listed."
        )
    if len(choice.throughput_alike) > 1:
        yield (
            f"The highest throughputs, at {list_values(choice.throughput_alike)}, {text}; the smallest value is listed."
        )


def _compose_budget(found: Tradeoff) -> Iterator[Block]:
    """Yield the section on the largest value within the latency budget; nothing without a budget."""
    within, setting = found.within, found.setting
    if within is None:
        return
    yield Heading(3, (f"Within {duration(setting.budget_ns)}",), anchor="budget")
    if within.largest is None:
        least = min(found.points, key=lambda point: point.latency(setting.percentile))
        yield Paragraph(
            (
                f"None: the lowest {setting.percentile} is {_format_latency(found, least)}",
                *_end_with_value(found, least),
            )
        )
        return
    largest = within.largest
    measured = f": {setting.percentile} {_format_latency(found, largest)} ({count(largest.steps)} steps)."
    if within.next is not None:
        measured += f" At {format_value(within.next.value)} it is {_format_latency(found, within.next)}."
    yield Paragraph((*name_value(setting, largest.value, capital=True), measured))
    if setting.is_amount:
        yield Paragraph(_explain_more(found, within))


def _end_with_value(found: Tradeoff, point: Point) -> Spans:
    return (".",) if point.value is None else (", at ", *name_value(found.setting, point.value), ".")


def _format_latency(found: Tradeoff, point: Point) -> str:
    return duration(round(point.latency(found.setting.percentile)))


def _explain_more(found: Tradeoff, within: Within) -> Spans:
    """Return a sentence on whether larger values would fit the budget: measured, estimated by the curve, or unknown."""
    if within.next is not None and within.next.latency(found.setting.percentile) <= (found.setting.budget_ns or 0):
        return ("Larger values fit as well but gain nothing: their steps are longer, and throughput is no higher.",)
    if within.next is None:
        return ("It is the largest value tried; whether a larger one fits is not known.",)
    if within.estimate is not None:
        whole = all(point.value is not None and point.value.is_integer() for point in found.points)
        estimate = float(int(within.estimate)) if whole else within.estimate
        if within.largest is not None and estimate > (within.largest.value or 0.0):
            return (
                f"By the curve, not measured: values up to about {format_value(estimate, rough=not whole)} would fit.",
            )
    if found.fit is None:
        return ("There is no curve, so it is not known whether a value between the two fits.",)
    return ("According to the curve, no value between the two fits.",)
