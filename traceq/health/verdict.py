"""The shape of a judgement: what a trace is good for, and how to capture one that is good for more."""

from __future__ import annotations

from typing import Literal

import msgspec

from traceq.formats.capabilities import Metric, format_of
from traceq.formats.format import Capture, Format

State = Literal["ok", "degraded", "not computable"]

# What another capture needs to give more: other options, or marks in the program (and the options that record them).
Needs = Literal["options", "marks"]

STATES: tuple[State, ...] = ("ok", "degraded", "not computable")


class Suggestion(msgspec.Struct, frozen=True):
    """A profiler and its options that record a metric. `options` is None where it cannot; `note` then says why."""

    tool: str
    options: str | None
    note: str


def suggest_captures(
    metric: Metric, trace_format: str, *, of_pytorch: bool = True, of_amd: bool = False
) -> tuple[Suggestion, ...]:
    """Return options of the trace's own profiler that record the metric, or other profilers where it cannot.

    Empty where the format or metric is unknown. `of_pytorch`: the program may be PyTorch's; `of_amd`: its GPUs are
    AMD's.
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


class MetricVerdict(msgspec.Struct, frozen=True):
    """The verdict on a metric for one trace, and the reason. `needs` is None when another capture would not improve it."""

    state: State
    reason: str
    needs: Needs | None = None


class MetricHealth(msgspec.Struct, frozen=True):
    """The verdict on a metric, and the captures that would improve it; none when no capture would."""

    metric: str
    answers: str
    state: State
    reason: str
    needs: Needs | None
    ways: tuple[Suggestion, ...]


def not_computable(reason: str, needs: Needs = "options") -> MetricVerdict:
    """Return the verdict "not computable" for the reason; `needs` says what another capture has to have."""
    return MetricVerdict("not computable", reason, needs)


def ok_or_degraded(facts: str, *shortcomings: str | None, needs: Needs | None = None) -> MetricVerdict:
    """Return the verdict ok with `facts` as the reason; degraded, with the shortcomings as the reason, if any is not None.

    `needs`, what another capture has to have, is kept only where degraded.
    """
    found = [shortcoming for shortcoming in shortcomings if shortcoming]
    return MetricVerdict("degraded", "; ".join(found), needs) if found else MetricVerdict("ok", facts)


def sql_only(reason: str) -> MetricVerdict:
    """Return the verdict "degraded" on a metric whose inputs are there, but which traceq does not compute."""
    return MetricVerdict("degraded", f"no analysis yet, in SQL only: {reason}")
