"""The accuracy of each rule's predictions over a file of checked predictions; CPU and GPU apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Literal

from traceq.diagnosis.calibrated import Accuracy
from traceq.runs.verify.calibration import Calibrated

# Of a step; errors are shares of what was won, or of this where it is less.
LEAST_WON = 0.01

Hardware = Literal["cpu", "gpu"] | None


def measure_accuracy(lines: Sequence[Calibrated]) -> Accuracy:
    """Return the accuracy of checked predictions (at least one). Lines without a program count as one program."""
    errors = [relative_error(line) for line in lines]
    return Accuracy(
        predictions=len(lines),
        programs=len({line.program for line in lines}),
        inside=sum(line.is_inside for line in lines),
        reaching=sum(may_reach(line) for line in lines if not line.is_inside),
        error=median(map(abs, errors)),
        bias=median(errors),
    )


def relative_error(line: Calibrated) -> float:
    """Return the predicted less the gained share of the step, relative to the gain (taken as at least 1 % of the step)."""
    return line.error / max(line.won_share, LEAST_WON)


def may_reach(line: Calibrated) -> bool:
    """Return whether the interval of the measured gain overlaps the predicted bounds, both as shares of their steps."""
    low, high = line.saving_low_ns / line.step_ns, line.saving_high_ns / line.step_ns
    return line.won_low_ns / line.base_ns <= high and low <= line.won_high_ns / line.base_ns


def group_by_hardware(lines: Iterable[Calibrated]) -> dict[Hardware, list[Calibrated]]:
    """Return the lines by kind of hardware: cpu, gpu, and None for unknown (traceq 0.1), in this order; no empty groups."""
    kept = list(lines)
    kinds: tuple[Hardware, ...] = ("cpu", "gpu", None)
    groups = {kind: [line for line in kept if line.hardware == kind] for kind in kinds}
    return {kind: group for kind, group in groups.items() if group}


def group_by_rule(lines: Iterable[Calibrated]) -> dict[str, list[Calibrated]]:
    """Return the lines by name of rule, the names in alphabetical order."""
    kept = list(lines)
    return {rule: [line for line in kept if line.rule == rule] for rule in sorted({line.rule for line in kept})}
