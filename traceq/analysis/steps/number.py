"""Numbers of steps: the program's own where the steps' names have them (decision 0038)."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from traceq.analysis.steps.level import StepLevel

_NAME = re.compile(r"(.*?)(?<!\d)(\d{1,10})(\D*)", re.DOTALL)
# Whose names are the program's; numbers in those of a server are sizes, the others are traceq's words.
_NAMED = {"mark", "profiler_step", "step_range", "annotation"}
# Without a # before it a number may be a size: fewer that rise are a coincidence.
_LEAST = 3
# The ledger's sweep takes a number above all steps.
_HIGHEST = 2**31 - 2


def number_steps(level: StepLevel) -> list[int]:
    """Return the number of each step, in the order of time: rising, and at least 0.

    It is the number in the whole trace for one that was trimmed, else the program's, else traceq counts from 0.
    """
    whole = [mark.number for mark in level.marks if mark.number is not None]
    for numbers in (whole, _numbers_in_names(level)):
        is_rising = all(number < later for number, later in pairwise(numbers))
        if len(numbers) == len(level.marks) and is_rising and all(0 <= number <= _HIGHEST for number in numbers):
            return numbers
    return list(range(len(level.marks)))


def _numbers_in_names(level: StepLevel) -> list[int]:
    """Return the last number in the name of each step; empty where names differ in more, or the number may be another."""
    found = [_NAME.fullmatch(mark.name) for mark in level.marks]
    parts = [match.groups() for match in found if match]
    around = {(before, after) for before, _, after in parts}
    if level.source not in _NAMED or len(parts) < len(found) or len(around) != 1:
        return []
    ((before, _),) = around
    is_surely_number = before.endswith("#") or len(parts) >= _LEAST
    return [int(number) for _, number, _ in parts] if is_surely_number else []
