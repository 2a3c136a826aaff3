"""Sides whose ledger is that of the training thread, as no GPU works in their steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from traceq.analysis.categories import OF_HOST
from traceq.runs.run import Run


def comparable_ledgers(base: Sequence[Run], new: Sequence[Run]) -> tuple[list[Run], list[Run]]:
    """The runs of both sides, without the ledgers of the training thread where not every run has one.

    Beside the ledger of a GPU, or none, its categories would all be new or gone.
    """
    if all(_is_of_host(run) for run in (*base, *new)):
        return list(base), list(new)
    return [_without(run) for run in base], [_without(run) for run in new]


def lacks_ledger(base: Sequence[Run], new: Sequence[Run]) -> Literal["base", "new"] | None:
    """The side that has no ledger where the other has that of the training thread; None where there is no such side."""
    has_host = [any(_is_of_host(run) for run in runs) for runs in (base, new)]
    has_none = [any(run.counted and not _has_ledger(run) for run in runs) for runs in (base, new)]
    if has_host[1] and has_none[0]:
        return "base"
    return "new" if has_host[0] and has_none[1] else None


def _has_ledger(run: Run) -> bool:
    return any(step.ledger for step in run.counted)


def _is_of_host(run: Run) -> bool:
    return _has_ledger(run) and not any(step.gpu_ledger for step in run.counted)


def _without(run: Run) -> Run:
    if not _is_of_host(run):
        return run
    return replace(
        run,
        steps=tuple(replace(step, ledger={}) for step in run.steps),
        items=tuple(item for item in run.items if not item.category.startswith(OF_HOST)),
    )
