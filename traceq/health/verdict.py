"""The shape of a judgement: what a trace is good for, and how to capture one that is good for more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from traceq.formats.capabilities import Metric, format_of
from traceq.formats.format import Capture, Format

State = Literal["ok", "degraded", "not computable"]

# What another capture needs to give more: other options, or marks in the program (and the options that record them).
Needs = Literal["options", "marks"]

STATES: tuple[State, ...] = ("ok", "degraded", "not computable")


@dataclass(frozen=True)
class Suggestion:
    """Options of a profiler; without `options` it cannot give the metric, and `note` says why."""

    tool: str
    options: str | None
    note: str


def suggest_captures(
    metric: Metric, trace_format: str, *, of_pytorch: bool = True, of_amd: bool = False
) -> tuple[Suggestion, ...]:
    """Suggest options of the trace's own profiler, or other profilers if it cannot give the metric; nothing if it is unknown.

    `of_pytorch`: whether the program may be PyTorch's; `of_amd`: whether its GPUs are AMD's.
    """
    own = format_of(trace_format)
    capture = own.captures.get(metric.name)
    if capture is None or not own.can_record(of_pytorch=of_pytorch, of_amd=of_amd):
        return ()
    if isinstance(capture, Capture):
        return (_make_suggestion(own, capture),)
    return tuple(
        _make_suggestion(form, other if of_pytorch or isinstance(other, Capture) else "it does not record it")
        for form, other in metric.captures(own)
        if form.can_record(of_pytorch=of_pytorch, of_amd=of_amd)
    )


def _make_suggestion(form: Format, capture: Capture | str) -> Suggestion:
    if isinstance(capture, str):
        return Suggestion(form.profiler, None, capture)
    return Suggestion(form.profiler, form.spelled(capture.options), capture.note)


@dataclass(frozen=True)
class MetricVerdict:
    """The trust in a metric on one trace, and why; `needs` is None when another capture would give no more."""

    state: State
    reason: str
    needs: Needs | None = None


@dataclass(frozen=True)
class MetricHealth:
    """The verdict on a metric, and the ways to get it; none when another capture would give no more."""

    metric: str
    answers: str
    state: State
    reason: str
    needs: Needs | None
    ways: tuple[Suggestion, ...]


def not_computable(reason: str, needs: Needs = "options") -> MetricVerdict:
    """Judge a metric of which the trace lacks what it is made of."""
    return MetricVerdict("not computable", reason, needs)


def ok_or_degraded(facts: str, *shortcomings: str | None, needs: Needs | None = None) -> MetricVerdict:
    """Judge ok, with the facts it rests on; or degraded, by the shortcomings that are not None."""
    found = [shortcoming for shortcoming in shortcomings if shortcoming]
    return MetricVerdict("degraded", "; ".join(found), needs) if found else MetricVerdict("ok", facts)


def sql_only(reason: str) -> MetricVerdict:
    """Judge a metric that traceq does not compute yet although everything is there: another capture changes nothing."""
    return MetricVerdict("degraded", f"no analysis yet, in SQL only: {reason}")
