"""Knobs whose values are numbers: of workers and threads, of ranks that each do the work of a step, of work itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from traceq.runs.experiment.trial import Trial
from traceq.runs.tradeoff.values import STEPS

_RANKS = re.compile(
    r"(n|num|number_of)?_?(gpus|devices|ranks|nodes|replicas)|num_gpu|nproc\w*|n_proc\w*|world_?size", re.IGNORECASE
)
_COUNTS = re.compile(r"worker|thread|proc|rank|gpus|devices|world|cores|cpus|nodes|replica|jobs", re.IGNORECASE)
_WORK = re.compile(r"batch|samples|tokens|seq|accum|micro|^bs$", re.IGNORECASE)
_NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,15})?(e-?\d{1,2})?", re.IGNORECASE | re.ASCII)


def number_in(text: str) -> float | None:
    """What a knob's value is as a number; None where it is a word."""
    return float(text) if _NUMBER.fullmatch(text) else None


def count_in(text: str) -> int | None:
    """What a knob's value counts, 1 or more; None where it is no such number."""
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < len("1000000") and int(text) else None


def is_count(knob: str) -> bool:
    """Whether the knob counts what works at the same time."""
    return _COUNTS.search(knob) is not None or is_ranks(knob)


def is_of_work(knob: str) -> bool:
    """Whether it changes how much a step does."""
    return _WORK.search(knob) is not None


def is_ranks(knob: str) -> bool:
    """Whether it counts ranks, each of which does the work of a step."""
    return _RANKS.fullmatch(knob) is not None


def is_work_known(knobs: Iterable[str], trials: Sequence[Trial], work: str) -> bool:
    """Whether throughput can be compared: not where steps are counted that do more at one setting than at another."""
    if work != STEPS:
        return True
    names = {name for each in trials for name in each.work}
    differ = any(len({each.work[name] for each in trials if name in each.work}) > 1 for name in names)
    return not differ and not any(is_of_work(knob) or is_ranks(knob) for knob in knobs)
