"""Steps of a server by what they do: prompts cost otherwise than next tokens, large batches otherwise than small ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from traceq.runs.run import Run


def kinds_of(runs: Sequence[Run]) -> dict[str, int]:
    """How many counted steps there are of each kind; nothing where a step is of none, as in programs that are no servers."""
    steps = [step for run in runs for step in run.counted]
    counted = Counter(step.kind for step in steps if step.kind is not None)
    return dict(counted) if counted.total() == len(steps) else {}


def common_kinds(base: Sequence[Run], new: Sequence[Run]) -> list[str]:
    """The kinds of steps that every run of both sides has, in the order of the alphabet."""
    each = [kinds_of([run]).keys() for run in (*base, *new)]
    return sorted(set.intersection(*map(set, each))) if each else []


def of_kind(run: Run, kind: str) -> Run:
    """The run with steps of that kind only.

    Shapes go: in a bucket of requests they differ from step to step, and the bucket says what work it is.
    """
    return replace(
        run,
        steps=tuple(step for step in run.steps if step.kind == kind),
        items=tuple(item for item in run.items if item.kind == kind),
        shapes={},
    )
