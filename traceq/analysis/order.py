"""From the staged rows of a trace to its last table: what runs, in what order, and what each topic needs to say anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import duckdb

from traceq.analysis.graphs.captured import Captured, read_captured
from traceq.analysis.graphs.graph_match import fill_matches, known_nodes
from traceq.analysis.kernels.compiled_kernel import Compiled, fill_compiled
from traceq.analysis.kernels.kernel_family import fill_classes
from traceq.analysis.kernels.module_timeline import fill_timeline
from traceq.analysis.ledger.host_debt import fill_debt
from traceq.analysis.ledger.host_piece import cut_intervals
from traceq.analysis.ledger.host_timeline import fill_host_timeline
from traceq.analysis.ledger.idle_gap import fill_gaps
from traceq.analysis.nesting.nesting import nest
from traceq.analysis.replay.replayed import fill_replay
from traceq.analysis.stalls.stall_debt import fill_stall_debt
from traceq.analysis.steps.choice import AS_FOUND, Choice
from traceq.analysis.steps.step import find_steps
from traceq.common.units import parsed_size
from traceq.database import sql
from traceq.formats.capabilities import format_of


class Topic(NamedTuple):
    """Analyses that run one after another.

    `needs` is a column of present.sql, None where there is always something to say. For progress bars: `words` say what they are
    about, `weight` is about which percentage of the time of all they took on two large traces.
    """

    needs: str | None
    analyses: tuple[str, ...]
    words: str = "other facts"
    weight: int = 1


# From staging to the tables of slices, launches, collectives and steps.
JOINED = (
    Topic(None, ("host_name", "nesting", "thread_state"), "nesting", 8),
    Topic(
        None,
        ("communication", "launch", "serving_annotation", "serving_mark", "steps", "gpu_slice", "annotated"),
        "steps",
        15,
    ),
)

# What is worked out from these tables alone.
TOPICS = (
    Topic(
        None,
        (
            "device_activity",
            "phase_interval",
            "host_slice",
            "host_running",
            "host_timeline",
            "stream_wait",
            "idle_interval",
            "host_piece",
            "idle_second_look",
            "host_piece",
            "idle_overhead",
            "host_piece",
            "idle_gap_cause",
            "host_debt",
            "idle_gap",
            "time_ledger",
            "host_ledger_interval",
            "host_piece",
            "host_ledger",
            "launch_state",
            "long_stretch",
            "host_stall",
            "stall_debt",
        ),
        "idle gaps and the ledger",
        32,
    ),
    Topic("cpu_samples", ("idle_sample",)),
    Topic("copies", ("copy_call", "copy_time", "copy_position", "copy_return", "copy_overlap"), "copies", 3),
    Topic("unified_memory", ("copy_unified_memory",)),
    Topic(None, ("data_interval",)),
    Topic("fetches", ("host_piece", "data_part", "data_fetch"), "data loading"),
    Topic("workers", ("data_worker_interval", "host_piece", "data_part", "data_worker")),
    Topic(None, ("data_copy", "data_stall")),
    Topic(
        "snapshot",
        ("allocation_stack", "allocation_life", "memory_peak", "allocation", "snapshot_timeline", "snapshot_clock"),
        "who holds memory",
    ),
    Topic("samples", ("memory_timeline", "memory_step"), "memory"),
    Topic("monitors", ("monitor_step",)),
    Topic("calls", ("allocator_call",)),
    Topic(
        "communication",
        (
            "collective_issued",
            "collective_shapes",
            "collective_wait",
            "collective_slice",
            "collective_link",
            "stall_communication",
        ),
        "communication",
        3,
    ),
    Topic(None, ("communication_overlap",)),
    # modules again below: what kernels of graphs are of is known before what kernels and operators are
    Topic("graph_launches", ("module_slice", "module_timeline", "graph_match", "graph_kernel"), "graphs"),
    Topic("kernels", ("kernel_family", "kernel_occupancy"), "kernels", 3),
    Topic("compiled", ("compiled_kernel",)),
    Topic(
        "shapes",
        ("operator_shape", "operator_work", "kernel_operand", "operator_cost", "serving_bytes"),
        "operators",
        5,
    ),
    Topic("kernels", ("module_slice", "module_timeline", "module")),
    Topic(None, ("step_stats", "program", "way", "missing_input", "replay"), "replay and critical path", 25),
    Topic(None, ("triage",)),
)

# Oddities that show when all tables are there.
NOTES = (Topic(None, ("way", "notes")),)

# By the names under which SQL files ask for them: choice (of the steps), and what the analyses before them found; of large traces
# commit and free_memory, which analyses may call on their way, and memory_limit, what DuckDB may hold when the analysis is done.
Values = dict[str, Any]


def _nest(connection: duckdb.DuckDBPyConnection, values: Values) -> None:
    values["cut"], values["overlapping"] = nest(connection, values["trace_id"], values.get("commit", lambda: None))


def _find_steps(connection: duckdb.DuckDBPyConnection, values: Values) -> None:
    found = find_steps(connection, values["trace_id"], values["choice"], values.get("free_memory", lambda: None))
    values |= {"has_step_range": found.has_step_range, "has_window": found.has_window}


# Whether PyTorch launches the work, as far as the trace shows, and whether on GPUs of AMD.
_WHOSE = """
select
    count(*) filter (property = 'framework') = 0
    or count(*) filter (value in ('PyTorch', 'vLLM', 'SGLang', 'TensorRT-LLM')) > 0,
    count(*) filter (property = 'vendor' and value = 'amd') > 0
from program
where trace_id = $1
"""


def _fill_way(connection: duckdb.DuckDBPyConnection, values: Values) -> None:
    """The temporary table _way: what records an input, by its name in Format.ways."""
    (name,) = connection.execute("select format from trace where trace_id = $1", [values["trace_id"]]).fetchone() or (
        "",
    )
    form = format_of(name)
    of_pytorch, of_amd = connection.execute(_WHOSE, [values["trace_id"]]).fetchone() or (True, False)
    found = {each: form.way(each, of_pytorch=of_pytorch, of_amd=of_amd) for each in form.ways}
    ways = {each: words for each, words in found.items() if words}
    connection.execute(
        "create or replace temp table _way as select unnest($1::varchar[]) as name, unnest($2::varchar[]) as words",
        [list(ways), list(ways.values())],
    )


def _if_any(table: str, name: str) -> Callable[[duckdb.DuckDBPyConnection, Values], None]:
    """The analysis `name`, where the temporary table that it is made from has rows: planning it costs tens of milliseconds."""

    def fill_if_any(connection: duckdb.DuckDBPyConnection, values: Values) -> None:
        if connection.execute(f"from {table} limit 1").fetchone():
            sql.run(connection, sql.shelved("analysis")[name], **values)

    return fill_if_any


def _fill_stall_debt(connection: duckdb.DuckDBPyConnection, values: Values) -> None:
    if connection.execute("from host_stall limit 1").fetchall():
        fill_stall_debt(connection, values["trace_id"])


# What a capture beside a trace needs before it tells of graphs; it has no steps.
_OF_CAPTURES = ("host_name", "nesting", "communication", "launch", "gpu_slice", "module_slice", "module_timeline")

# What SQL alone cannot say well.
_IN_PYTHON: dict[str, Callable[[duckdb.DuckDBPyConnection, Values], None]] = {
    "nesting": _nest,
    "steps": _find_steps,
    "way": _fill_way,
    "host_timeline": lambda connection, _values: fill_host_timeline(connection),
    "host_piece": lambda connection, _values: cut_intervals(connection),
    "host_debt": lambda connection, _values: fill_debt(connection),
    "idle_gap": lambda connection, values: fill_gaps(connection, values["trace_id"]),
    "kernel_family": lambda connection, _values: fill_classes(connection),
    "module_timeline": lambda connection, _values: fill_timeline(connection),
    "compiled_kernel": lambda connection, values: fill_compiled(
        connection, values["trace_id"], values.get("compiled", ())
    ),
    "graph_match": lambda connection, values: fill_matches(connection, values.get("captures", ())),
    "graph_kernel": _if_any("_graph_launch", "graph_kernel"),
    "module": _if_any(
        "(from _module_slice select 1 union all from graph_kernel select 1 where module is not null)", "module"
    ),
    "serving_mark": _if_any("_serving_annotation", "serving_mark"),
    "host_stall": _if_any("_long_stretch", "host_stall"),
    "stall_debt": _fill_stall_debt,
    "replay": lambda connection, values: fill_replay(
        connection, values["trace_id"], values.get("free_memory", lambda: None)
    ),
}


def fill(
    connection: duckdb.DuckDBPyConnection,
    trace_id: int,
    choice: Choice = AS_FOUND,
    progress: Callable[[str, float], None] = lambda _stage, _share: None,
    *,
    memory: int | None = None,
    captures: Sequence[Captured] = (),
    compiled: Sequence[Compiled] = (),
) -> None:
    """Fill every table of a trace whose rows are staged; `choice` is what the user says of its steps.

    `captures` tell of its graphs, `compiled` of kernels of torch.compile.

    `progress` gets what is analysed next, and the share of the analyses that is done. `memory` is given for a large trace: the
    bytes that this process may hold. Then each analysis is committed: what is not committed stays in memory. Of a small trace
    each topic: every commit waits for the disk.
    """
    values: Values = {"choice": choice, "captures": captures, "compiled": compiled}
    _run_topics(connection, (*JOINED, *TOPICS, *NOTES), trace_id, values, progress, memory)
    if captures:
        sql.run(connection, "analysis/graphs/unused_capture.sql", trace_id=trace_id)


def read_capture(connection: duckdb.DuckDBPyConnection, trace_id: int) -> Captured:
    """What the trace, whose rows are staged, tells of the kernels of graphs."""
    connection.begin()
    connection.execute("create temp table _gpu_step (slice_id bigint, step integer)")
    run(connection, _OF_CAPTURES, trace_id)
    captured = read_captured(connection, with_eager=True)
    captured = known_nodes(connection, captured)
    connection.rollback()
    return captured


def analyse(connection: duckdb.DuckDBPyConnection, trace_id: int) -> None:
    """Fill the tables of TOPICS for a trace whose slices and steps are in their tables."""
    _run_topics(connection, TOPICS, trace_id, {})


def _run_topics(
    connection: duckdb.DuckDBPyConnection,
    topics: Sequence[Topic],
    trace_id: int,
    values: Values,
    progress: Callable[[str, float], None] = lambda _stage, _share: None,
    memory: int | None = None,
) -> None:
    if memory is not None:
        values |= {"commit": partial(_renew, connection), "free_memory": partial(_free_memory, connection, values)}
    present: dict[str, bool] | None = None
    of_all = sum(topic.weight for topic in topics)
    for number, topic in enumerate(topics):
        before = sum(each.weight for each in topics[:number])
        progress(topic.words, before / of_all)
        if topic.needs is not None:
            # Planning a query costs milliseconds even where it finds nothing.
            present = present or _present(connection)
            if not present[topic.needs]:
                continue
        if memory is None:
            _run_at_once(connection, topic.analyses, trace_id, values)
            continue
        for place, name in enumerate(topic.analyses):
            progress(topic.words, (before + topic.weight * place / len(topic.analyses)) / of_all)
            _run_at_once(connection, (name,), trace_id, values, memory)


def _run_at_once(
    connection: duckdb.DuckDBPyConnection,
    analyses: tuple[str, ...],
    trace_id: int,
    values: Values,
    memory: int | None = None,
) -> None:
    """Run the analyses in one transaction; where DuckDB's memory does not suffice again, by one thread, with all of `memory`."""
    try:
        _commit(connection, analyses, trace_id, values)
    except duckdb.OutOfMemoryException:
        connection.rollback()
        _try_again(connection, analyses, trace_id, values, memory)
    _restore_limit(connection, values)


def _try_again(
    connection: duckdb.DuckDBPyConnection,
    analyses: tuple[str, ...],
    trace_id: int,
    values: Values,
    memory: int | None,
) -> None:
    # One thread holds less at a time than several, but spills more: the next analysis has all of them again.
    ((threads,),) = connection.execute("select current_setting('threads')").fetchall()
    connection.execute("set threads = 1")
    free_memory = values.pop("free_memory", None)
    if memory is not None:
        _let_hold(connection, values, memory)
    _commit(connection, analyses, trace_id, values)
    if free_memory is not None:
        values["free_memory"] = free_memory
    connection.execute(f"set threads = {threads}")


def _let_hold(connection: duckdb.DuckDBPyConnection, values: Values, memory: int) -> None:
    """Let DuckDB hold so many bytes until the analysis is done."""
    ((limit,),) = connection.execute("select current_setting('memory_limit')").fetchall()
    values.setdefault("memory_limit", limit)
    connection.execute(f"set memory_limit = '{memory}B'")


def _restore_limit(connection: duckdb.DuckDBPyConnection, values: Values) -> None:
    """Let DuckDB hold as much as before _let_hold()."""
    if "memory_limit" in values:
        connection.execute(f"set memory_limit = '{values.pop('memory_limit')}'")


def _renew(connection: duckdb.DuckDBPyConnection) -> None:
    """Commit, and go on in another transaction."""
    connection.commit()
    connection.begin()


def _free_memory(connection: duckdb.DuckDBPyConnection, values: Values) -> None:
    """Let DuckDB give back half of what it may hold, until the analysis is done: arrays of Python come in its place."""
    ((limit,),) = connection.execute("select current_setting('memory_limit')").fetchall()
    connection.commit()
    # DuckDB refuses where it cannot give back so much, and goes on as before.
    with suppress(duckdb.OutOfMemoryException):
        _let_hold(connection, values, parsed_size(limit) // 2)
    connection.begin()


def _present(connection: duckdb.DuckDBPyConnection) -> dict[str, bool]:
    """For each need of a topic, whether the trace has it."""
    found = sql.run(connection, "analysis/present.sql")
    names = [column[0] for column in found.description]
    return dict(zip(names, found.fetchone() or (), strict=True))


def _commit(connection: duckdb.DuckDBPyConnection, analyses: tuple[str, ...], trace_id: int, values: Values) -> None:
    connection.begin()
    run(connection, analyses, trace_id, values)
    connection.commit()


def run(
    connection: duckdb.DuckDBPyConnection, analyses: tuple[str, ...], trace_id: int, values: Values | None = None
) -> None:
    """Run `analyses` in the order given, which must be that of JOINED, TOPICS and NOTES.

    `values` are those that the SQL files name beside trace_id; what an analysis finds for later ones is put there.
    """
    values = {} if values is None else values
    values["trace_id"] = trace_id
    for name in analyses:
        if name in _IN_PYTHON:
            _IN_PYTHON[name](connection, values)
        else:
            sql.run(connection, sql.shelved("analysis").get(name, f"analysis/{name}.sql"), **values)
