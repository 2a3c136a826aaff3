"""Finding the steps of a trace: what recurs at which level, and which level is the step (docs/metrics.md)."""

from __future__ import annotations

import json
import re
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from traceq.analysis.steps.choice import AS_FOUND, Choice
from traceq.analysis.steps.level import (
    SEVERAL,
    Annotations,
    LaunchLoop,
    StepLevel,
    StepMark,
    is_layer,
    number_steps,
    regroup_marks,
)
from traceq.analysis.steps.recurrence import Launches, find_recurrence
from traceq.analysis.steps.recurring_communication import find_recurring_communication
from traceq.analysis.steps.rounds import build_round_marks
from traceq.analysis.steps.unit import fill_units
from traceq.analysis.steps.window import (
    Extent,
    exclude_outside,
    gpu_phase,
    is_graph_capture,
    mark_of_extent,
    window_extent,
)
from traceq.database.sql import relation, run, statement

if TYPE_CHECKING:
    from collections.abc import Callable

    import duckdb

    from traceq.analysis.nesting.stack import Integers


_SAID = "select args ->> '$.traceq.trim' from trace where trace_id = $1"
_THREADS = "select coalesce(pid::varchar, process_name), coalesce(tid::varchar, thread_name), thread_id from thread"


class KeptSteps(NamedTuple):
    """The steps that `traceq trim` recorded in the trace; `is_followed` is whether more steps followed in the whole trace.

    Then the last step ends where the next one began.
    """

    level: StepLevel
    is_followed: bool


def read_kept_steps(connection: duckdb.DuckDBPyConnection, trace_id: int) -> KeptSteps | None:
    """Return the steps that `traceq trim` recorded in the trace; None if it was not trimmed, or the record is damaged."""
    row = connection.execute(_SAID, [trace_id]).fetchone()
    try:
        said = json.loads(row[0]) if row and row[0] else None
        return None if said is None else _read_kept(connection, said)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _read_kept(connection: duckdb.DuckDBPyConnection, said: dict[str, Any]) -> KeptSteps | None:
    """Return the steps in trim's record `said`; None without steps or with an empty one. Raises various errors if damaged."""
    threads = {(pid, tid): number for pid, tid, number in connection.execute(_THREADS).fetchall()}
    marks = [
        StepMark(
            str(step["name"]),
            threads.get((step.get("pid"), step.get("tid"))),
            int(step["ts"]),
            int(step["ts_end"]),
            None if step.get("excluded") is None else str(step["excluded"]),
            None if step.get("number") is None else int(step["number"]),
        )
        for step in said["steps"]
    ]
    if not marks or any(mark.own_end <= mark.ts for mark in marks):
        return None
    level = StepLevel(
        source=str(said["source"]),
        name=str(said["unit"]),
        marks=sorted(marks, key=lambda mark: mark.ts),
        evidence="steps of the whole trace that this one was cut from",
        clock="gpu" if said.get("clock") == "gpu" else "host",
    )
    return KeptSteps(level, bool(said.get("is_followed")))


# Fewer are a coincidence.
_LEAST = 3
# Of all launches, and of what the GPU does: what annotations hold that are the step.
_MOST = 0.5
_NEARLY_ALL = 0.95
_FEW = 0.01

_ROWS_AT_ONCE = 122_880

_COLUMNS = {
    "step": pa.int32(),
    "name": pa.string(),
    "thread_id": pa.int32(),
    "ts": pa.int64(),
    "own_end": pa.int64(),
    "excluded": pa.string(),
}


class FoundSteps(NamedTuple):
    """The source of the steps (step.source; None for a trace without slices), and whether the user's range and window exist.

    Where they do not, steps and window are found as if not given.
    """

    source: str | None
    has_step_range: bool
    has_window: bool


def find_steps(
    connection: duckdb.DuckDBPyConnection,
    trace_id: int,
    choice: Choice = AS_FOUND,
    free_memory: Callable[[], None] = lambda: None,
) -> FoundSteps:
    """Fill the tables step, unit and phase_of_run; return the source of the steps.

    `free_memory` is called once the launches are read into arrays.
    """
    run(connection, "analysis/steps/marked_warm_up.sql")
    annotations = [Annotations(*row) for row in run(connection, "analysis/steps/annotation_level.sql").fetchall()]
    loop, launched = _find_loop(connection, annotations, free_memory)
    kept = read_kept_steps(connection, trace_id) if choice.step_range is None else None
    chosen = kept.level if kept else _choose_level(connection, choice, annotations, loop, launched)
    if choice.steps_per != 1:
        chosen = chosen._replace(marks=regroup_marks(chosen.marks, choice.steps_per, launched))
    has_step_range = choice.step_range is None or chosen.source == "step_range"
    extent = window_extent(connection, choice.window) if choice.window else None
    if extent:
        chosen = _limit_to_window(chosen, choice, extent)
    # Of marks at one time the last begins a step: no step lasts no time.
    after = zip_longest(chosen.marks, chosen.marks[1:])
    chosen = chosen._replace(marks=[mark for mark, later in after if later is None or mark.ts < later.ts])
    _keep(connection, chosen)
    is_followed = kept is not None and kept.is_followed
    run(
        connection,
        "analysis/steps/step.sql",
        trace_id=trace_id,
        clock=chosen.clock,
        is_settled=kept is not None,
        is_followed=is_followed,
    )
    fill_units(connection, trace_id, chosen, annotations, loop)
    run(connection, "analysis/steps/phase_of_run.sql", trace_id=trace_id)
    return FoundSteps(
        chosen.source if chosen.marks else None, has_step_range, extent is not None or choice.window is None
    )


def _choose_level(
    connection: duckdb.DuckDBPyConnection,
    choice: Choice,
    annotations: list[Annotations],
    loop: LaunchLoop | None,
    launched: Integers,
) -> StepLevel:
    """Return the level that is the step: marked steps, else annotations, else launches, updates or collectives that recur.

    Without any of these it is a single pass or the window of all GPU work.
    """
    marked = _find_marked(connection, choice.step_range)
    ((has_gpu,),) = connection.execute("select count(*) > 0 from _gpu_launch").fetchall()
    if marked and has_gpu and marked.source != "step_range" and not _hold_launches(marked.marks, launched):
        marked = None
    if marked and not (loop and marked.source == "profiler_step" and _is_several(marked.marks, loop)):
        return marked
    if marked and loop:
        return loop.level
    if is_graph_capture(connection):
        return StepLevel(
            "window", "window", mark_of_extent(gpu_phase(connection)), "a server captures a CUDA graph: no step"
        )
    if named := _find_named(connection, annotations, loop):
        return named
    return (
        _find_unnamed(connection, loop)
        or _single_pass(connection, annotations)
        or StepLevel("window", "window", mark_of_extent(gpu_phase(connection)), "nothing recurs that could be a step")
    )


def _hold_launches(marks: list[StepMark], launched: Integers) -> bool:
    """Return whether a hundredth of all launches or more lie between the first mark and the end of the last, or there are none.

    A loop that marks its steps once, at its end, has a mark that holds nothing.
    """
    within = np.searchsorted(np.sort(launched), [marks[0].ts, max(mark.own_end for mark in marks)])
    return not len(launched) or int(within[1] - within[0]) >= _FEW * len(launched)


def _find_marked(connection: duckdb.DuckDBPyConnection, step_range: str | None) -> StepLevel | None:
    """Return the annotations that mark steps (by option, program, profiler or server, in this order); None without any."""
    patterns = {"step_range": step_range, "mark": r"^traceq\.step#\d+$", "profiler_step": r"^ProfilerStep#\d+"}
    for source, pattern in patterns.items():
        if pattern and (marks := _read(connection, "step_marked", pattern=pattern)):
            return StepLevel(source, re.sub(r"#?\d+", "#", marks[0].name), marks, "marked by the program")
    marks = _read(connection, "step_serving")
    return StepLevel("serving", re.sub(r"#?\d+", "#", marks[0].name), marks, "marked by the server") if marks else None


def _find_unnamed(connection: duckdb.DuckDBPyConnection, loop: LaunchLoop | None) -> StepLevel | None:
    """Return the step found by work that recurs without a name: launches, updates, collectives; None without one."""
    updates = _read(connection, "step_optimizer")
    if loop and loop.level.is_sure and not loop.layer_evidence and loop.rounds >= len(updates):
        return loop.level
    if updates:
        return StepLevel("optimizer", "Optimizer.step#", updates, "one update each")
    if marks := _find_communicating(connection):
        if loop and abs(loop.rounds - len(marks)) <= 1 and not loop.layer_evidence:
            return loop.level
        return StepLevel("recurrence", marks[0].name, marks, "the collectives between two pauses", is_sure=False)
    return None


def _is_several(marks: list[StepMark], loop: LaunchLoop) -> bool:
    """Return whether the profiler's only mark holds several rounds that each take an input: then rounds are the steps."""
    (ts, end) = (marks[0].ts, marks[-1].own_end)
    first = loop.level.marks[0].ts
    return (
        len(marks) == 1
        and loop.rounds >= _LEAST
        and "before a copy to the GPU" in loop.found.evidence
        and ts <= first < end
    )


def _find_named(
    connection: duckdb.DuckDBPyConnection, annotations: list[Annotations], loop: LaunchLoop | None
) -> StepLevel | None:
    """Return the annotations that are the step; None without any, or if launches show that each holds several steps or a part."""
    candidates = [
        annotation
        for annotation in annotations
        if annotation.times >= _LEAST
        and min(annotation.coverage, annotation.busy_share) >= _MOST
        and not (annotation.is_layer or annotation.is_epoch)
    ]
    if not candidates:
        return None
    best = max(candidates, key=lambda candidate: (candidate.is_step_word, candidate.coverage, candidate.total))
    is_as_often = loop is not None and 1 / SEVERAL < loop.rounds / best.times < SEVERAL
    if best.updates >= SEVERAL * best.times and not is_as_often:
        return None
    # a loop that comes less often may be epochs, and one of a single launch is no step: the name decides
    is_several = loop is not None and ((loop.rounds > best.times and loop.found.length > 1) or not best.is_step_word)
    if loop and loop.level.is_sure and not loop.layer_evidence and not is_as_often and is_several:
        return None
    parameters = {"thread_id": best.thread_id, "pattern": best.pattern}
    marks = _read(connection, "step_annotated", **parameters)
    return StepLevel("annotation", best.pattern, marks, f"annotations that hold {best.coverage:.0%} of the launches")


def _single_pass(connection: duckdb.DuckDBPyConnection, annotations: list[Annotations]) -> StepLevel | None:
    """Return one or two annotations of a pass through the model that hold nearly all work, as steps; None without any."""
    candidates = [annotation for annotation in annotations if annotation.is_pass_word and _holds_all(annotation)]
    if not candidates:
        return None
    # of a range around all and one inside it the shorter one: it leaves out what stands around the pass
    best = max(candidates, key=lambda candidate: (candidate.times, -candidate.total))
    marks = _read(connection, "step_annotated", thread_id=best.thread_id, pattern=best.pattern)
    return StepLevel("annotation", best.pattern, marks, f"annotations that hold {best.coverage:.0%} of the launches")


def _holds_all(annotations: Annotations) -> bool:
    """Return whether there are only one or two of these annotations, and they hold nearly all work."""
    return (
        annotations.times < _LEAST
        and min(annotations.coverage, annotations.busy_share) >= _NEARLY_ALL
        and not (annotations.is_layer or annotations.is_epoch)
    )


def _limit_to_window(chosen: StepLevel, choice: Choice, window: Extent) -> StepLevel:
    """Return the level with the steps outside of the window excluded.

    The window itself is the step where no whole counted step lies in it, or if all GPU work was asked for.
    """
    is_all = choice.window is not None and choice.window.first is None and choice.window.last is None
    marks = mark_of_extent(window) if is_all else exclude_outside(chosen.marks, window)
    if marks[0].name == "window":
        return StepLevel("window", "window", marks, "--window")
    return chosen._replace(marks=marks)


def _find_loop(
    connection: duckdb.DuckDBPyConnection, annotations: list[Annotations], free_memory: Callable[[], None]
) -> tuple[LaunchLoop | None, Integers]:
    """Return the loop of launches (None where they do not recur), and the time of each launch, ns."""
    query = relation(connection, statement("analysis/steps/launch_sequence.sql"), communication=False)
    launches, what = Launches.read(query.to_arrow_reader(_ROWS_AT_ONCE))
    free_memory()
    found = find_recurrence(launches) if len(launches.ts) else None
    if found is None:
        return None, launches.ts
    marks = build_round_marks(connection, what, launches, found)
    level = StepLevel(
        source="recurrence",
        name=next(mark.name for mark in marks if mark.excluded is None),
        marks=marks,
        evidence=", ".join(found.evidence),
        is_sure=found.is_sure,
        clock="gpu" if found.is_ahead else "host",
        launches=found.length,
        share=found.share,
    )
    loop = LaunchLoop(found, level, len(launches.ts))
    return loop._replace(layer_evidence=_layer_evidence(connection, annotations, loop, launches)), launches.ts


def _layer_evidence(
    connection: duckdb.DuckDBPyConnection, annotations: list[Annotations], loop: LaunchLoop, launches: Launches
) -> str:
    """Return words for what shows that the rounds of `loop` are layers; empty if nothing does."""
    if is_layer(annotations, loop.rounds):
        return "annotations of layers come as often"
    rounds = [part for part in loop.found.parts if part.is_round]
    one = slice(rounds[0].first, rounds[0].last)
    # rounds that take an input or read a result are steps, although a range stands around all of them
    are_steps = any(flags[one].any() for flags in (launches.is_input, launches.is_read))
    around = next(
        (annotation for annotation in annotations if annotation.is_unit_word and _holds_all(annotation)), None
    )
    if around and not are_steps:
        return f"all lie in {around.pattern}"
    places = [part.first for part in rounds]
    ((is_inside,),) = run(
        connection,
        "analysis/steps/inside_module.sql",
        thread_id=int(launches.thread_id[places[len(places) // 2]]),
        middle=int(launches.ts[places[len(places) // 2]]),
        starts=launches.ts[places].tolist(),
    ).fetchall()
    return "all lie in one call of a module" if is_inside else ""


def _find_communicating(connection: duckdb.DuckDBPyConnection) -> list[StepMark]:
    """Return steps from the end of a recurring sequence of collectives to the end of the next; empty without any.

    Work before the first and after the last sequence is in no step.
    """
    rows = relation(connection, statement("analysis/steps/launch_sequence.sql"), communication=True).to_arrow_table()
    found = find_recurring_communication(*(rows[column].to_numpy() for column in ("number", "ts", "ts_end")))
    if found is None:
        return []
    name = f"after a sequence of {found.length} collectives"
    ends = rows.take(found.ends)
    threads = [None if thread < 0 else thread for thread in ends["thread_id"].to_pylist()]
    borders = zip(threads, ends["ts_end"].to_pylist(), strict=True)
    return [StepMark(name, thread, ts, next_ts) for (thread, ts), (_, next_ts) in pairwise(borders)]


def _read(connection: duckdb.DuckDBPyConnection, file: str, **parameters: object) -> list[StepMark]:
    """Return the step marks that the query analysis/steps/`file`.sql finds with these parameters."""
    return [StepMark(*row) for row in run(connection, f"analysis/steps/{file}.sql", **parameters).fetchall()]


def _keep(connection: duckdb.DuckDBPyConnection, chosen: StepLevel) -> None:
    """Make the temporary table _step_mark from the marks of the level, with the source of the steps."""
    marks = zip(number_steps(chosen), chosen.marks, strict=True)
    rows = [(number, mark.name, mark.thread_id, mark.ts, mark.own_end, mark.excluded) for number, mark in marks]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in _COLUMNS]
    found = pa.table(
        [pa.array(*column_and_type) for column_and_type in zip(columns, _COLUMNS.values(), strict=True)], [*_COLUMNS]
    )
    connection.register("_found_mark", found)
    connection.execute(
        "create or replace temp table _step_mark as select *, $source as source from _found_mark",
        {"source": chosen.source},
    )
    connection.unregister("_found_mark")
