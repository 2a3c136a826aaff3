"""How right the predictions of each rule were, over a file of checked predictions; CPU and GPU apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Literal

from traceq.diagnosis.calibrated import Accuracy
from traceq.runs.verify.calibration import Calibrated

# Of a step; errors are shares of what was won, or of this where it is less.
LEAST_WON = 0.01

Hardware = Literal["cpu", "gpu"] | None


def accuracy(lines: Sequence[Calibrated]) -> Accuracy:
    """Of at least one line. Lines that do not say of which program they are count as one program."""
    errors = [relative_error(line) for line in lines]
    return Accuracy(
        predictions=len(lines),
        programs=len({line.program for line in lines}),
        inside=sum(line.is_inside for line in lines),
        reaching=sum(reaches(line) for line in lines if not line.is_inside),
        error=median(map(abs, errors)),
        bias=median(errors),
    )


def relative_error(line: Calibrated) -> float:
    """How much more was predicted than won, as a share of that."""
    return line.error / max(line.won_share, LEAST_WON)


def reaches(line: Calibrated) -> bool:
    """Whether the interval of what was won holds something between the bounds."""
    low, high = line.saving_low_ns / line.step_ns, line.saving_high_ns / line.step_ns
    return line.won_low_ns / line.base_ns <= high and low <= line.won_high_ns / line.base_ns


def by_hardware(lines: Iterable[Calibrated]) -> dict[Hardware, list[Calibrated]]:
    """The lines of CPUs, of GPUs, and of what does not say (traceq 0.1), in this order."""
    kept = list(lines)
    kinds: tuple[Hardware, ...] = ("cpu", "gpu", None)
    groups = {kind: [line for line in kept if line.hardware == kind] for kind in kinds}
    return {kind: group for kind, group in groups.items() if group}


def by_rule(lines: Iterable[Calibrated]) -> dict[str, list[Calibrated]]:
    """The lines by rule, in the order of the alphabet."""
    kept = list(lines)
    return {rule: [line for line in kept if line.rule == rule] for rule in sorted({line.rule for line in kept})}
