"""Finding the steps of a trace: what recurs at which level, and which level is the step (docs/metrics.md)."""

from __future__ import annotations

import re
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from traceq.analysis.steps.choice import AS_FOUND, Choice
from traceq.analysis.steps.kept import kept_steps
from traceq.analysis.steps.level import SEVERAL, Annotations, Level, Loop, is_layer
from traceq.analysis.steps.recurrence import Launches, recurrence
from traceq.analysis.steps.recurring_communication import recurring_communication
from traceq.analysis.steps.rounds import rounds
from traceq.analysis.steps.step_mark import Mark, regrouped
from traceq.analysis.steps.unit import fill_units
from traceq.analysis.steps.window import Extent, gpu_phase, inside, is_graph_capture, whole, window_extent
from traceq.database.sql import relation, run, statement

if TYPE_CHECKING:
    from collections.abc import Callable

    import duckdb

    from traceq.analysis.nesting.stack import Integers


# Fewer are a coincidence.
_LEAST = 3
# Of all launches, and of what the GPU does: what annotations hold that are the step.
_MOST = 0.5
_NEARLY_ALL = 0.95

_ROWS_AT_ONCE = 122_880

_COLUMNS = {
    "name": pa.string(),
    "thread_id": pa.int32(),
    "ts": pa.int64(),
    "own_end": pa.int64(),
    "excluded": pa.string(),
}


class Found(NamedTuple):
    """The source used (step.source), None when the trace has no slices at all; and whether there is what `choice` names.

    Where there is not, steps are found, and the window is, as if it had not been given.
    """

    source: str | None
    has_step_range: bool
    has_window: bool


def find_steps(
    connection: duckdb.DuckDBPyConnection,
    trace_id: int,
    choice: Choice = AS_FOUND,
    free_memory: Callable[[], None] = lambda: None,
) -> Found:
    """Fill the tables step, unit and phase_of_run. `free_memory` is called once the launches are read, as arrays."""
    run(connection, "analysis/steps/marked_warm_up.sql")
    annotations = [Annotations(*row) for row in run(connection, "analysis/steps/annotation_level.sql").fetchall()]
    loop, launched = _loop(connection, annotations, free_memory)
    kept = kept_steps(connection, trace_id) if choice.step_range is None else None
    chosen = kept.level if kept else _chosen(connection, choice, annotations, loop)
    if choice.steps_per != 1:
        chosen = chosen._replace(marks=regrouped(chosen.marks, choice.steps_per, launched))
    has_step_range = choice.step_range is None or chosen.source == "step_range"
    extent = window_extent(connection, choice.window) if choice.window else None
    if extent:
        chosen = _judged(chosen, choice, extent)
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
    return Found(chosen.source if chosen.marks else None, has_step_range, extent is not None or choice.window is None)


def _chosen(
    connection: duckdb.DuckDBPyConnection, choice: Choice, annotations: list[Annotations], loop: Loop | None
) -> Level:
    """Return the level that is the step: what says so itself, then what there is most evidence for, else the window."""
    marked = _says_so(connection, choice.step_range)
    if marked and not (loop and marked.source == "profiler_step" and _is_several(marked.marks, loop)):
        return marked
    if marked and loop:
        return loop.level
    if is_graph_capture(connection):
        return Level("window", "window", whole(gpu_phase(connection)), "a server captures a CUDA graph: no step")
    if named := _named(connection, annotations, loop):
        return named
    return (
        _recurring(connection, loop)
        or _single_pass(connection, annotations)
        or Level("window", "window", whole(gpu_phase(connection)), "nothing recurs that could be a step")
    )


def _says_so(connection: duckdb.DuckDBPyConnection, step_range: str | None) -> Level | None:
    """Annotations that say that they are steps; None where there are none."""
    patterns = {
        "step_range": step_range,
        "mark": r"^traceq\.step#\d+$",
        "profiler_step": r"^ProfilerStep#\d+",
    }
    for source, pattern in patterns.items():
        if pattern and (marks := _read(connection, "step_marked", pattern=pattern)):
            return Level(source, re.sub(r"#?\d+", "#", marks[0].name), marks, "marked by the program")
    marks = _read(connection, "step_serving")
    return Level("serving", re.sub(r"#?\d+", "#", marks[0].name), marks, "marked by the server") if marks else None


def _recurring(connection: duckdb.DuckDBPyConnection, loop: Loop | None) -> Level | None:
    """Find recurring work without a name: launches, updates, collectives; None if it cannot be a step."""
    updates = _read(connection, "step_optimizer")
    if loop and loop.level.is_sure and not loop.layer_evidence and loop.rounds >= len(updates):
        return loop.level
    if updates:
        return Level("optimizer", "Optimizer.step#", updates, "one update each")
    if marks := _communicating(connection):
        if loop and abs(loop.rounds - len(marks)) <= 1 and not loop.layer_evidence:
            return loop.level
        return Level("recurrence", marks[0].name, marks, "the collectives between two pauses", is_sure=False)
    return None


def _is_several(marks: list[Mark], loop: Loop) -> bool:
    """Return whether the only mark of the profiler holds several rounds, each of which takes an input of its own."""
    (ts, end) = (marks[0].ts, marks[-1].own_end)
    first = loop.level.marks[0].ts
    return (
        len(marks) == 1
        and loop.rounds >= _LEAST
        and "before a copy to the GPU" in loop.found.evidence
        and ts <= first < end
    )


def _named(connection: duckdb.DuckDBPyConnection, annotations: list[Annotations], loop: Loop | None) -> Level | None:
    """Return the annotations that are the step; None where none are, or where launches show that they hold several, or a part."""
    candidates = [
        each
        for each in annotations
        if each.times >= _LEAST
        and min(each.coverage, each.busy_share) >= _MOST
        and not (each.is_layer or each.is_epoch)
    ]
    if not candidates:
        return None
    best = max(candidates, key=lambda each: (each.is_step_word, each.coverage, each.total))
    is_as_often = loop is not None and 1 / SEVERAL < loop.rounds / best.times < SEVERAL
    if best.updates >= SEVERAL * best.times and not is_as_often:
        return None
    # a loop that comes less often may be epochs: the name decides
    is_several = loop is not None and (loop.rounds > best.times or not best.is_step_word)
    if loop and loop.level.is_sure and not loop.layer_evidence and not is_as_often and is_several:
        return None
    parameters = {"thread_id": best.thread_id, "pattern": best.pattern}
    marks = _read(connection, "step_annotated", **parameters)
    return Level("annotation", best.pattern, marks, f"annotations that hold {best.coverage:.0%} of the launches")


def _single_pass(connection: duckdb.DuckDBPyConnection, annotations: list[Annotations]) -> Level | None:
    """Choose the one or two annotations of a pass through the model that hold nearly all work; return None for none."""
    candidates = [each for each in annotations if each.is_pass_word and _holds_all(each)]
    if not candidates:
        return None
    # of a range around all and one inside it the shorter one: it leaves out what stands around the pass
    best = max(candidates, key=lambda each: (each.times, -each.total))
    marks = _read(connection, "step_annotated", thread_id=best.thread_id, pattern=best.pattern)
    return Level("annotation", best.pattern, marks, f"annotations that hold {best.coverage:.0%} of the launches")


def _holds_all(annotations: Annotations) -> bool:
    """Return whether these one or two annotations hold nearly all work."""
    return (
        annotations.times < _LEAST
        and min(annotations.coverage, annotations.busy_share) >= _NEARLY_ALL
        and not (annotations.is_layer or annotations.is_epoch)
    )


def _judged(chosen: Level, choice: Choice, window: Extent) -> Level:
    """Return the level with only what lies in the window; the window itself where no whole step does, or for all GPU work."""
    is_all = choice.window is not None and choice.window.first is None and choice.window.last is None
    marks = whole(window) if is_all else inside(chosen.marks, window)
    if marks[0].name == "window":
        return Level("window", "window", marks, "--window")
    return chosen._replace(marks=marks)


def _loop(
    connection: duckdb.DuckDBPyConnection, annotations: list[Annotations], free_memory: Callable[[], None]
) -> tuple[Loop | None, Integers]:
    """Return the loop of launches, None where they do not recur; and when each launch was made."""
    query = relation(connection, statement("analysis/steps/launch_sequence.sql"), communication=False)
    launches, what = Launches.of(query.to_arrow_reader(_ROWS_AT_ONCE))
    free_memory()
    found = recurrence(launches) if len(launches.ts) else None
    if found is None:
        return None, launches.ts
    marks = rounds(connection, what, launches, found)
    level = Level(
        source="recurrence",
        name=next(mark.name for mark in marks if mark.excluded is None),
        marks=marks,
        evidence=", ".join(found.evidence),
        is_sure=found.is_sure,
        clock="gpu" if found.is_ahead else "host",
        launches=found.length,
        share=found.share,
    )
    loop = Loop(found, level, len(launches.ts))
    return loop._replace(layer_evidence=_layer_evidence(connection, annotations, loop, launches)), launches.ts


def _layer_evidence(
    connection: duckdb.DuckDBPyConnection, annotations: list[Annotations], loop: Loop, launches: Launches
) -> str:
    """Say what shows that the rounds of `loop` are layers; return an empty text where nothing does."""
    if is_layer(annotations, loop.rounds):
        return "annotations of layers come as often"
    rounds = [part for part in loop.found.parts if part.is_round]
    one = slice(rounds[0].first, rounds[0].last)
    # rounds that take an input or read a result are steps, although a range stands around all of them
    are_steps = any(flags[one].any() for flags in (launches.is_input, launches.is_read))
    around = next((each for each in annotations if each.is_unit_word and _holds_all(each)), None)
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


def _communicating(connection: duckdb.DuckDBPyConnection) -> list[Mark]:
    """From the end of one recurring sequence of communication to the end of the next.

    What lies before the first and after the last is no complete step.
    """
    rows = relation(connection, statement("analysis/steps/launch_sequence.sql"), communication=True).to_arrow_table()
    found = recurring_communication(*(rows[column].to_numpy() for column in ("number", "ts", "ts_end")))
    if found is None:
        return []
    name = f"after a sequence of {found.length} collectives"
    ends = rows.take(found.ends)
    threads = [None if thread < 0 else thread for thread in ends["thread_id"].to_pylist()]
    borders = zip(threads, ends["ts_end"].to_pylist(), strict=True)
    return [Mark(name, thread, ts, next_ts) for (thread, ts), (_, next_ts) in pairwise(borders)]


def _read(connection: duckdb.DuckDBPyConnection, file: str, **parameters: object) -> list[Mark]:
    return [Mark(*row) for row in run(connection, f"analysis/steps/{file}.sql", **parameters).fetchall()]


def _keep(connection: duckdb.DuckDBPyConnection, chosen: Level) -> None:
    """Fill the temporary table _step_mark."""
    columns = [list(column) for column in zip(*chosen.marks, strict=True)] or [[] for _ in _COLUMNS]
    found = pa.table([pa.array(*each) for each in zip(columns, _COLUMNS.values(), strict=True)], [*_COLUMNS])
    connection.register("_found_mark", found)
    connection.execute(
        "create or replace temp table _step_mark as select *, $source as source from _found_mark",
        {"source": chosen.source},
    )
    connection.unregister("_found_mark")
