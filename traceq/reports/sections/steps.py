"""The words about steps: what counts as one, what is left out and why, what the program marked and monitors logged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.common.units import UNKNOWN, count, duration, format_bandwidth, rate, share, short, some
from traceq.reports.document import (
    Block,
    Heading,
    Items,
    Literal,
    Name,
    Paragraph,
    Query,
    Spans,
    Table,
    Warn,
    make_table,
)
from traceq.reports.model import Condition, PhaseOfRun, PrintedStep, Steps, Throughput, TraceReport, Unit
from traceq.reports.sections.missing import how_to_record
from traceq.reports.sections.pictures import draw_pictures

_FEW_STEPS = 20
_LISTED = 5
# Of the capture: what is shorter is not worth a word.
_WORTH_TELLING = 0.01

_SOURCES = {
    "recurrence": "recurring launches or collectives; nothing marks steps",
    "serving": "annotations of a server",
    "step_range": "annotations that match --step-range",
    "mark": "marks of traceq.annotate",
    "profiler_step": "the profiler's own step annotations",
    "annotation": "a repeated annotation",
    "optimizer": "optimizer steps as boundaries",
    "window": "nothing: the window counts as one step",
}
_INSIDE = {"micro_batch": ("micro-batch", "micro-batches"), "layer": ("layer", "layers")}
_PHASES = {"start_up": "start-up", "left_out": "left out", "tail": "tail"}


def describe_steps(report: TraceReport) -> Iterator[Block]:
    """Yield the section on steps: what counts as a step, their statistics, and which are left out."""
    facts = report.steps
    yield Heading(3, ("Steps",))
    if facts.source is None:
        yield Warn((f"{UNKNOWN}: the trace has no slices.",))
        return
    if any(note.code == "step_range_unmatched" for note in report.notes):
        yield Warn(("No annotation matches --step-range, so steps were found without it.",))
    if facts.is_window:
        yield _explain_no_steps(report)
    else:
        yield Paragraph(_say_what_counts(report))
    if judged := judged_words(report.phases_of_run):
        yield Paragraph((f"Judged: {judged}.",))
    yield from _offer_choice(report.units)
    if facts.printed and not facts.is_window:
        yield Paragraph((_compare_printed(facts.printed),))
    if not facts.is_window:
        yield from _describe_statistics(report)
    yield Query(report.queries["steps"])


def _compare_printed(printed: PrintedStep) -> str:
    """Return a sentence on the step time that the program printed, which is a multiple of the step here or a part of it."""
    said = f"The program itself prints {duration(printed.printed_ns)} a step (median of {count(printed.values)})"
    if printed.is_longer:
        return f"{said}, {printed.times} times the step counted here: it may count {printed.times} of these as one."
    return f"{said}: {printed.times} of its steps make one here, as when it counts the passes whose gradients it accumulates."


def _explain_no_steps(report: TraceReport) -> Block:
    marked = how_to_record(report, "step_ranges", "Mark steps by ")
    why = next((f": {unit.evidence}" for unit in report.units if unit.is_step), "")
    return Warn(
        (
            (
                f"No steps{why}. One window is analysed instead, as if it were a step, and all times below are "
                "those of the window. "
            ),
            *((*marked, "; name") if marked else ("Name",)),
            " existing ranges with ",
            Literal("--step-range REGEX"),
            "; choose the window with ",
            Literal("--window A..B"),
            ".",
        )
    )


def _say_what_counts(report: TraceReport) -> Spans:
    """Return a sentence on the counted steps: their number, how they were found, and what repeats in and around them."""
    facts = report.steps
    example: Spans = (" (", Name(facts.example), ", ...)") if facts.example else ()
    step = next((unit for unit in report.units if unit.is_step), None)
    what: Spans = (f"{_SOURCES.get(facts.source or '', facts.source)}", *example)
    if step and facts.source == "recurrence" and step.launches:
        what = (f"a sequence of {some(step.launches, 'launch', 'launches')} that recurs; nothing marks steps",)
    others = [words for unit in report.units if step and (words := _describe_unit(unit, step))]
    spans: Spans = (f"{some(facts.counted, 'step')} of {duration(facts.p50_ns)} (p50), found by ", *what)
    for words in others:
        spans += words
    return (*spans, ".")


def _describe_unit(unit: Unit, step: Unit) -> Spans:
    """Return words on a unit that is inside each step or has several steps; empty for other units."""
    if unit.is_step:
        return ()
    if unit.level in _INSIDE and unit.count >= step.count > 0:
        words = some(round(unit.count / step.count), *_INSIDE[unit.level])
        if unit.launches:
            return (f"; inside it {words} of {some(unit.launches, 'launch', 'launches')}",)
        return (f"; inside it {words} (", Name(unit.name), ")")
    if unit.level == "epoch":
        return (f"; inside {some(unit.count, 'longer unit')} (", Name(unit.name), ")")
    return ()


def judged_words(phases: Sequence[PhaseOfRun]) -> str:
    """Return words on the judged part of the capture, and on the phases around it; empty if unknown."""
    window = sum(phase.dur_ns for phase in phases if phase.phase == "window")
    whole = sum(phase.dur_ns for phase in phases)
    if not window:
        return ""
    words = f"{duration(window)} of {duration(whole)} ({share(window / whole)})"
    around = [
        f"{_PHASES.get(phase.phase, phase.phase)} {duration(phase.dur_ns)}"
        for phase in phases
        if phase.phase != "window" and phase.dur_ns >= _WORTH_TELLING * whole
    ]
    return f"{words}; {', '.join(around)}" if around else words


def _offer_choice(units: Sequence[Unit]) -> Iterator[Block]:
    """Yield a warning that another unit may be the step, with the options to choose it; nothing if none may be."""
    step = next((unit for unit in units if unit.is_step), None)
    others = [unit for unit in units if unit.is_possible and not unit.is_step]
    if step is None or not others:
        return
    other = others[0]
    each = f", {duration(other.period_ns)} each" if other.period_ns else ""
    yield Warn(
        (
            "Something else may be the step: ",
            Name(other.name),
            f" ({count(other.count)} times{each}). Choose with ",
            Literal(_option_for(step, other)),
            ", ",
            Literal("--step-range REGEX"),
            " or ",
            Literal("--window A..B"),
            ".",
        )
    )


def _option_for(step: Unit, other: Unit) -> str:
    """Return the option --steps-per that makes `other` the step: how often it occurs per present step, as "2" or "1/2"."""
    if other.count >= step.count > 0:
        return f"--steps-per {max(round(other.count / step.count), 2)}"
    return f"--steps-per 1/{max(round(step.count / other.count), 2)}"


def _describe_statistics(report: TraceReport) -> Iterator[Block]:
    facts = report.steps
    columns = ("p50", "p95", "p99", "mean", "stddev", "min", "max")
    cells = (count(facts.counted), *(duration(getattr(facts, f"{name}_ns")) for name in columns))
    yield Table(("steps", *columns), (cells,), text_columns=())
    if 1 < facts.counted < _FEW_STEPS:
        yield Paragraph((f"With {facts.counted} steps p95 and p99 say little more than the longest step.",))
    yield from draw_pictures(report, "steps")
    yield from _list_excluded(facts)


def _list_excluded(facts: Steps) -> Iterator[Block]:
    """Yield how many steps are left out, and up to 5 of them with the reason; nothing without any."""
    if not facts.excluded:
        return
    yield Paragraph((f"{len(facts.excluded)} left out of all numbers in this report:",))
    yield Items(
        tuple(
            (f"step {each.step}, ", Name(each.name), f", {duration(each.dur_ns)}: ", each.reason)
            for each in facts.excluded[:_LISTED]
        )
    )
    if len(facts.excluded) > _LISTED:
        yield Paragraph((f"... and {len(facts.excluded) - _LISTED} more.",))


_PER_GIGA = 1e9


def describe_conditions(report: TraceReport) -> Iterator[Block]:
    """Yield the section on the series that monitors logged (power, clocks, host); nothing without one."""
    if not report.conditions:
        return
    yield Heading(3, ("Power, clocks and host",), is_minor=True)
    yield Paragraph(
        (
            f"From monitor logs, over the counted {report.unit}s. For disks and networks, the busiest one; ",
            Literal("step_condition"),
            " has each step.",
        )
    )
    yield make_table(
        report.conditions,
        {
            "of": _name_source,
            "series": lambda each: Literal(each.name),
            "mean": lambda each: _format_value(each, each.mean),
            "lowest": lambda each: _format_value(each, each.lowest),
            "highest": lambda each: _format_value(each, each.highest),
        },
        text=(0, 1),
    )
    yield Query(report.queries["conditions"])


def _name_source(condition: Condition) -> str:
    if condition.device is not None:
        return f"GPU {condition.device}"
    return Name(condition.instance) if condition.instance else "host"


def _format_value(condition: Condition, value: float) -> str:
    if condition.unit == "bytes/s":
        return format_bandwidth(value / _PER_GIGA)
    unit = "%" if condition.unit == "percent" else condition.unit
    return f"{rate(value)} {unit}" if unit else rate(value)


_TEN = 10


def describe_marks(report: TraceReport) -> Iterator[Block]:
    """Yield the throughput in a line, and a table of phases, each only where the program marked it."""
    if report.throughput:
        spans: list[str] = ["Throughput: "]
        for number, each in enumerate(report.throughput):
            spans += [", " if number else "", Name(each.key), f" {_format_rate(each)}"]
        yield Paragraph((*spans, "."))
        yield Query(report.queries["throughput"])
    if report.phases:
        yield from _describe_phases(report)


def _format_rate(throughput: Throughput) -> str:
    rate = throughput.per_second
    return f"{rate:,.0f}/s" if abs(rate) >= _TEN else f"{short(rate)}/s"


def _describe_phases(report: TraceReport) -> Iterator[Block]:
    yield Heading(3, ("Phases",))
    yield Paragraph(
        (
            "Time between the marks on the host, not on the GPU. Phases may nest and threads add up: ",
            f"they are not parts of a {report.unit}. ",
            Literal("data"),
            " is fetching from data loaders.",
        )
    )
    yield make_table(
        report.phases,
        {
            "phase": lambda each: Name(each.phase),
            "count": lambda each: count(each.count),
            f"per {report.unit}, median": lambda each: duration(each.median_ns),
            f"share of {report.unit}s": lambda each: share(each.step_share),
        },
    )
    yield Query(report.queries["phases"])
