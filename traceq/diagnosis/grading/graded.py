"""Grades of frozen reports: one for each trace, pair and finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from traceq.diagnosis.grading.frozen import Frozen, FrozenPair, FrozenTrace
from traceq.diagnosis.grading.grade import GradedFinding, GradedResult, grade, grade_refused
from traceq.diagnosis.grading.labels import Label, truth_of


class GradedTrace(msgspec.Struct, frozen=True):
    """A frozen report of a trace with its grades; `is_blind`: it was frozen before the trace had a label.

    `has_unit` is whether its number of steps is right; None where the label gives none. `program` names the program
    traced.
    """

    trace: FrozenTrace
    result: GradedResult
    is_blind: bool
    has_unit: bool | None
    program: str


class GradedPair(msgspec.Struct, frozen=True):
    """The frozen verdict of a comparison of two traces, and the verdicts that its label accepts.

    `is_blind`: it was frozen before it had a label.
    """

    pair: FrozenPair
    accepted: tuple[str, ...]
    is_blind: bool

    @property
    def is_right(self) -> bool:
        """Whether the verdict is one that the label accepts."""
        return self.pair.verdict in self.accepted


class Graded(msgspec.Struct, frozen=True):
    """All grades of frozen reports; `unlabelled` are the names of traces and pairs without a label.

    `gone` are graded traces whose files are missing: whether they changed is not known.
    """

    frozen: Frozen
    traces: tuple[GradedTrace, ...]
    pairs: tuple[GradedPair, ...]
    unlabelled: tuple[str, ...]
    gone: tuple[str, ...] = ()


def grade_trace(frozen: Frozen, trace: FrozenTrace, label: Label) -> GradedTrace:
    """Grade the frozen report of a trace, and its number of steps, by its label."""
    truth = truth_of(label, trace.name, Path(trace.path))
    return GradedTrace(
        trace,
        grade_refused(truth) if trace.error else grade(truth, trace.output),
        is_blind=frozen.after is None and trace.name not in frozen.labels,
        # which of the steps count is a matter of choice
        has_unit=None if label.unit is None else any(map(label.unit.accepts, {trace.steps, trace.whole_steps})),
        program=label.program if isinstance(label.program, str) else trace.name,
    )


def record_by_rule(traces: Sequence[GradedTrace]) -> dict[str, list[dict[str, Any]]]:
    """Return for each rule the grades of its findings, sorted by trace.

    Each is a mapping with the keys trace, program, verdict, share, step_ns and confidence.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    for trace, said in _said(traces):
        found.setdefault(said.rule, []).append(
            {
                "trace": trace.trace.name,
                "program": trace.program,
                "verdict": said.verdict,
                "share": said.share,
                "step_ns": said.step_ns,
                "confidence": said.confidence,
            }
        )
    return {rule: sorted(each, key=lambda entry: entry["trace"]) for rule, each in sorted(found.items())}


def _said(traces: Sequence[GradedTrace]) -> Iterator[tuple[GradedTrace, GradedFinding]]:
    """Yield each finding with its trace."""
    return ((trace, finding) for trace in traces for finding in trace.result.said)
