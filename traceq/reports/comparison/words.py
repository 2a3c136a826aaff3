"""Words that all reports on differences share: both sides, intervals, knobs, and what a run was captured with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote

from msgspec.structs import replace

from traceq.common.text import shorten_sources
from traceq.common.units import change, count, duration, in_unit, maybe, per_cent, some
from traceq.reports.document import Block, Literal, Name, Outcome, Paragraph, Spans, Verdict, Warn
from traceq.runs.compare.comparison import Cause, Change, ChangePart, Comparison, NamedCause, Row
from traceq.runs.compare.match import PAGEABLE
from traceq.runs.made_with import Difference, is_turned
from traceq.runs.run import Run

# What the box of a verdict is: green only where nothing got worse.
_OUTCOMES: dict[str, Outcome] = {
    "regression": "problem",
    "likely regression": "look into",
    "cannot tell": "cannot tell",
}


def verdict_block(comparison: Comparison, spans: Spans) -> Verdict:
    """Return the block of the comparison's verdict, whose sentence is `spans`; "cannot tell" ends with a way out."""
    lines = (tell_way_out(comparison),) if comparison.verdict == "cannot tell" else ()
    outcome = _OUTCOMES.get(comparison.verdict, "healthy")
    return Verdict(spans, outcome, lines=lines, label="Against the base")


def tell_way_out(comparison: Comparison) -> Spans:
    """Return a phrase, with the command, on what would give a verdict to a comparison that has none."""
    if comparison.obstacles:
        return ("Compare them anyway: ", Literal(f"{brief_command(comparison)} --anyway"))
    return ("Record both again, with more steps: ", Literal("traceq record --skip 50 --steps 20 -- PROGRAM"))


def brief_command(comparison: Comparison) -> str:
    """Return the `traceq compare` command on the first run of each side, without options."""
    sides = (comparison.base, comparison.new)
    return " ".join(("traceq compare", *(quote(side.runs[0].source) for side in sides if side.runs)))


def drop_folders(comparison: Comparison) -> Comparison:
    """Return the comparison for a page that is passed on: commands name its sources without the folders that they share."""
    base, new = comparison.base, comparison.new
    names = shorten_sources([run.source for run in (*base.runs, *new.runs)])
    runs = [replace(run, source=name) for run, name in zip((*base.runs, *new.runs), names, strict=True)]
    return replace(
        comparison,
        base=replace(base, runs=tuple(runs[: len(base.runs)])),
        new=replace(new, runs=tuple(runs[len(base.runs) :])),
    )


def both_sides(*changed: Cause | Change | ChangePart | Row) -> tuple[str, str, str]:
    """Return three table cells: the time on the base, on the new side and the difference, each summed over all `changed`."""
    base, new, delta = (sum(getattr(cell, name) for cell in changed) for name in ("base_ns", "new_ns", "delta_ns"))
    return duration(base), duration(new), change(delta)


def format_interval(each: Cause | Change | NamedCause) -> str:
    """Return the confidence interval of a change as "-2 ms to -1 ms"; a dash if it is not known."""
    return "-" if each.interval_ns is None else " to ".join(map(change, each.interval_ns))


def format_confidence(level: float) -> str:
    """Return the confidence of intervals for a significance level (0..1), as "98 %" for 0.02."""
    return per_cent(1 - level)


def name_gpus(runs: Sequence[Run]) -> Spans:
    """Return the distinct names of the GPUs of the runs, or "none works in the steps" if no run has a GPU."""
    if all(run.device is None for run in runs):
        return ("none is used in the steps",)
    return (Name(", ".join(sorted({run.device_name or "name not in the trace" for run in runs}))),)


def describe_same_copy(part: ChangePart) -> str:
    """Return a phrase on a copy whose host memory became pinned or pageable, as "the same copy, pinned memory now"."""
    was_pageable = (part.base_shape or "").endswith(PAGEABLE)
    return f"the same copy, {'pinned' if was_pageable else 'pageable'} memory now"


def list_capture(run: Run) -> Iterator[tuple[str, Spans]]:
    """Yield (label, text) on the capture of the run: its profiler, and its rank if known."""
    yield "profiler", (Name(" ".join(filter(None, (run.producer or run.format, run.producer_version)))),)
    if run.rank is not None or run.world_size is not None:
        yield "rank", (f"{maybe(count, run.rank)} of {maybe(count, run.world_size)}",)


_MOST_VALUES = 3
_MOST_TOLD = 8

# What is a checksum says only that it differs.
_ONLY_DIFFERS = frozenset(("command_line",))


def compose_knobs(differences: Sequence[Difference]) -> Iterator[Block]:
    """Yield what the runs of both sides were made with differently: a line on one changed knob, a warning on several.

    A last line names other facts that differ.
    """
    turned = [difference for difference in differences if is_turned(difference)]
    # A knob is mostly turned by an option.
    others = [fact for fact in differences if not is_turned(fact) and not (turned and fact.name in _ONLY_DIFFERS)]
    if len(turned) == 1:
        yield Paragraph(("One setting changed: ", *describe_difference(turned[0]), "."))
    elif turned:
        yield Warn(
            (
                f"{some(len(turned), 'setting')} changed: ",
                *_list_differences(turned),
                ": the change cannot be attributed to any one of them.",
            )
        )
    if others:
        yield Paragraph(("Also differs: ", *_list_differences(others), "."))


def _list_differences(differences: Sequence[Difference]) -> Spans:
    """Return the first 8 differences, separated by commas, and the number of the others."""
    spans = tuple(span for difference in differences[:_MOST_TOLD] for span in (", ", *describe_difference(difference)))[
        1:
    ]
    more = len(differences) - _MOST_TOLD
    return (*spans, f" and {some(more, 'other')}") if more > 0 else spans


def describe_difference(difference: Difference) -> Spans:
    """Return a knob or fact with its values, as "batch size 8 -> 16", and the knob that it follows from.

    For the command line, which is kept as a checksum, the values are left out.
    """
    if difference.name in _ONLY_DIFFERS:
        return (difference.words,)
    arrow = [span for values in difference.values for span in (" -> ", *describe_values(values, difference.unit))][1:]
    follows = f" (with {difference.follows})" if difference.follows else ""
    return (f"{difference.words} ", *arrow, follows)


def describe_values(values: Sequence[str], unit: str | None) -> Spans:
    """Return up to 3 values of a knob on one side with their unit, joined by "or"; "and more" stands for the others."""
    shown = [span for value in values[:_MOST_VALUES] for span in (" or ", Name(in_unit(value, unit)))][1:]
    return (*shown, " and more") if len(values) > _MOST_VALUES else tuple(shown)
