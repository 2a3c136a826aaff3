"""The table unit: every level at which a trace recurs, with the one that is the step."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from traceq.analysis.steps.level import SEVERAL

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

    from traceq.analysis.steps.level import Annotations, LaunchLoop, StepLevel

# Of all launches: what annotations hold that are worth telling.
_SOME = 0.1


class _FoundUnit(NamedTuple):
    """A row of the table unit, a level at which the trace recurs, without its trace and number."""

    level: str
    source: str
    name: str
    times: int
    evidence: str
    period: int | None = None
    launches: int | None = None
    coverage: float | None = None
    share: float | None = None
    is_step: bool = False
    is_possible: bool = False


_TYPES = (
    *(pa.string(), pa.string(), pa.string(), pa.int64(), pa.string()),
    *(pa.int64(), pa.int64(), pa.float64(), pa.float64(), pa.bool_(), pa.bool_()),
)


def fill_units(
    connection: duckdb.DuckDBPyConnection,
    trace_id: int,
    chosen: StepLevel,
    annotations: list[Annotations],
    loop: LaunchLoop | None,
) -> None:
    """Fill the table unit with the level chosen as step and the other levels that recur; nothing without steps."""
    if not chosen.marks:
        return
    units = [_unit_of_steps(chosen, loop), *_units_of_loop(chosen, loop), *_units_of_annotations(chosen, annotations)]
    columns = zip(*units, strict=True)
    found = pa.table(
        [pa.array(*column_and_type) for column_and_type in zip(columns, _TYPES, strict=True)], [*_FoundUnit._fields]
    )
    connection.register("_found_unit", found)
    connection.execute(
        "insert into unit by name select $trace_id as trace_id,"
        " row_number() over (order by period desc nulls last, times, name) - 1 as unit, * rename (times as count)"
        " from _found_unit",
        {"trace_id": trace_id},
    )
    connection.unregister("_found_unit")


def _unit_of_steps(chosen: StepLevel, loop: LaunchLoop | None) -> _FoundUnit:
    """Return the row of table unit for the level `chosen` as steps, or for the window; times in ns."""
    is_window = chosen.source == "window"
    whole = [mark for mark in chosen.marks if mark.excluded is None] or chosen.marks
    return _FoundUnit(
        level="window" if is_window else "step",
        source=chosen.source,
        name=chosen.name,
        times=len(whole),
        period=_median_distance(chosen),
        launches=chosen.launches,
        coverage=loop.coverage if loop and chosen.source == "recurrence" else None,
        share=chosen.share,
        is_step=True,
        is_possible=True,
        evidence=chosen.evidence,
    )


def _median_distance(level: StepLevel) -> int | None:
    """Return the median distance between counted marks, ns; for a single mark its length; None without counted marks."""
    # Rounds follow one another as they were launched; of a damaged trace they can have run in another order.
    marks = sorted((mark for mark in level.marks if mark.excluded is None), key=lambda mark: mark.ts)
    distances = sorted(later.ts - mark.ts for mark, later in pairwise(marks))
    if distances:
        return distances[(len(distances) - 1) // 2]
    return marks[0].own_end - marks[0].ts if marks else None


def _units_of_loop(chosen: StepLevel, loop: LaunchLoop | None) -> Iterator[_FoundUnit]:
    """Yield the row for the recurrence of launches if it is another level than the steps.

    Otherwise yield the row for the sequence that recurs inside its rounds, if there is one.
    """
    if loop is None:
        return
    steps = sum(mark.excluded is None for mark in chosen.marks) or 1
    is_window = chosen.source == "window"
    if loop.level is not chosen and (is_window or not 1 / SEVERAL < loop.rounds / steps < SEVERAL):
        yield _FoundUnit(
            level=_inner_level(loop) if is_window or loop.rounds > steps else "epoch",
            source="recurrence",
            name=loop.level.name,
            times=loop.rounds,
            period=_median_distance(loop.level),
            launches=loop.found.length,
            coverage=loop.coverage,
            share=loop.found.share,
            is_possible=is_window and not loop.layer_evidence,
            evidence=loop.layer_evidence or loop.level.evidence,
        )
    elif loop.found.inner:
        yield _FoundUnit(
            level="layer",
            source="recurrence",
            name=f"sequence of {loop.found.inner} launches",
            times=loop.found.inner_whole or loop.rounds * (loop.found.length // loop.found.inner),
            launches=loop.found.inner,
            share=loop.found.inner_share,
            is_possible=not chosen.is_sure or loop.found.inner_whole > 0,
            evidence="all that a step has, but for results that are read"
            if loop.found.inner_whole
            else "recurs inside a step, but for some of its launches",
        )


def _inner_level(loop: LaunchLoop) -> str:
    """Return the level of rounds inside a step: "micro_batch" if each takes an input, else "layer"."""
    return "micro_batch" if "before a copy to the GPU" in loop.found.evidence else "layer"


def _units_of_annotations(chosen: StepLevel, annotations: list[Annotations]) -> Iterator[_FoundUnit]:
    """Yield rows for annotations that come clearly more or less often than steps, and at least twice.

    They are on the steps' thread; on any thread where steps have none. Annotations with little work are left out.
    """
    steps = sum(mark.excluded is None for mark in chosen.marks) or 1
    thread = chosen.marks[0].thread_id
    for annotation in annotations:
        if (
            annotation.times == 1
            or annotation.coverage < _SOME
            or (thread is not None and annotation.thread_id != thread)
        ):
            continue
        if 1 / SEVERAL < annotation.times / steps < SEVERAL and not (chosen.source == "window" and annotation.is_layer):
            continue
        level = "layer" if annotation.is_layer else "piece" if annotation.times > steps else "epoch"
        yield _FoundUnit(
            level=level,
            source="annotation",
            name=annotation.pattern,
            times=annotation.times,
            period=annotation.period,
            coverage=annotation.coverage,
            evidence="annotations of layers"
            if annotation.is_layer
            else f"{annotation.times} of them beside {steps} of the unit judged",
        )
