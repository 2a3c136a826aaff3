"""Runs all analyses of a trace, each after those whose tables it reads; skips topics whose input the trace lacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import NamedTuple

import duckdb
from msgspec.structs import replace

from traceq.analysis.communication.process_groups import fill_process_groups
from traceq.analysis.flow import Flow, flow_of_text, in_order
from traceq.analysis.graphs.captured import Captured, read_captured
from traceq.analysis.graphs.graph_match import add_known_nodes, fill_matches
from traceq.analysis.kernels.compiled import Compiled, CompiledGraph
from traceq.analysis.kernels.compiled_kernel import fill_compiled
from traceq.analysis.kernels.compiled_module import fill_compiled_modules
from traceq.analysis.kernels.kernel_family import fill_classes
from traceq.analysis.kernels.module_timeline import fill_timeline
from traceq.analysis.kernels.reported_kernel import match_reports
from traceq.analysis.kernels.signature_ceiling import fill_ceilings
from traceq.analysis.layers.layer import fill_layers
from traceq.analysis.ledger.host_debt import fill_debt
from traceq.analysis.ledger.host_piece import cut_intervals
from traceq.analysis.ledger.host_timeline import fill_host_timeline
from traceq.analysis.ledger.idle_gap import fill_gaps
from traceq.analysis.nesting.nesting import nest_slices
from traceq.analysis.parallel import SecondConnection, find_earlier, split_analyses
from traceq.analysis.replay.replayed import fill_replay
from traceq.analysis.run.run_change import fill_changes
from traceq.analysis.stalls.stall_debt import fill_stall_debt
from traceq.analysis.state import (
    AnalysisState,
    commit_and_begin,
    do_nothing,
    free_memory,
    restore_memory_limit,
    set_memory_limit,
)
from traceq.analysis.steps.choice import AS_FOUND, Choice
from traceq.analysis.steps.step import find_steps
from traceq.database import sql
from traceq.formats.capabilities import format_of

Connection = duckdb.DuckDBPyConnection


class Topic(NamedTuple):
    """Analyses that run together.

    `needs` is the column of present.sql that tells whether the trace has their input; None where they always run. For
    progress bars, `words` name their subject, and `weight` is about the percentage of all time that they took on two
    large traces.
    """

    needs: str | None
    members: tuple[str, ...]
    words: str = "other facts"
    weight: int = 1

    @property
    def analyses(self) -> tuple[str, ...]:
        """The names of the analyses, each after those that make the tables that it reads; otherwise in the order listed."""
        return _sorted_members(self.members)


# From staging to the tables of slices, launches, collectives and steps. An analysis of two topics runs once.
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
            "idle_piece",
            "idle_second_look",
            "idle_hole_piece",
            "idle_overhead",
            "overhead_piece",
            "idle_gap_cause",
            "host_debt",
            "idle_gap",
            "time_ledger",
            "host_ledger_interval",
            "step_piece",
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
    Topic("fetches", ("fetch_piece", "data_part", "data_fetch"), "data loading"),
    Topic("workers", ("data_worker_interval", "worker_piece", "data_part", "data_worker")),
    Topic(None, ("data_copy", "data_stall")),
    Topic(
        "snapshot",
        ("allocation_stack", "allocation_life", "memory_peak", "allocation", "snapshot_timeline", "snapshot_clock"),
        "who holds memory",
    ),
    Topic("samples", ("memory_timeline", "memory_step"), "memory"),
    Topic("monitors", ("monitor_step",)),
    Topic("training_logs", ("run_step", "run_window", "run_attempt", "run_phase", "run_change"), "the whole run"),
    Topic("requests", ("request_step",), "requests"),
    Topic("calls", ("allocator_call",)),
    Topic(
        "communication",
        (
            "collective_issued",
            "collective_shapes",
            "collective_wait",
            "collective_slice",
            "collective_link",
            "process_group",
            "stall_communication",
        ),
        "communication",
        3,
    ),
    Topic(None, ("communication_overlap",)),
    Topic("graph_regions", ("graph_region",), "graphs"),
    Topic("graph_launches", ("module_slice", "module_timeline", "graph_match", "graph_kernel"), "graphs"),
    Topic("kernels", ("kernel_family", "kernel_occupancy"), "kernels", 3),
    Topic("compiled", ("compiled_kernel",)),
    Topic("kernel_reports", ("reported_kernel",)),
    Topic(
        "shapes",
        ("operator_shape", "operator_work", "kernel_operand", "signature_ceiling", "operator_cost", "serving_bytes"),
        "operators",
        5,
    ),
    Topic("kernels", ("module_slice", "module_timeline", "compiled_module", "module", "layer")),
    Topic(None, ("step_stats", "program", "way", "missing_input", "replay"), "replay and critical path", 25),
    Topic(None, ("triage",)),
)

# Oddities that show when all tables are there.
NOTES = (Topic(None, ("way", "notes")),)


def _nest_host(connection: Connection, state: AnalysisState) -> None:
    """Nest the host slices, and keep in `state` how many of them outlast their parent."""
    state.cut, state.overlapping = nest_slices(connection, state.trace_id, state.commit)


def _find_steps(connection: Connection, state: AnalysisState) -> None:
    """Find the steps of the trace, and keep in `state` whether a range marks them and whether a window was asked for."""
    found = find_steps(connection, state.trace_id, state.choice, state.free_memory)
    state.has_step_range, state.has_window = found.has_step_range, found.has_window


# Whether PyTorch launches the work, as far as the trace shows, and whether on GPUs of AMD.
_FRAMEWORK = """
select
    count(*) filter (property = 'framework') = 0
    or count(*) filter (value in ('PyTorch', 'vLLM', 'SGLang', 'TensorRT-LLM')) > 0,
    count(*) filter (property = 'vendor' and value = 'amd') > 0
from program
where trace_id = $1
"""


def _fill_way(connection: Connection, state: AnalysisState) -> None:
    """Make the temporary table _way: for each kind of input, words for how the user gets it recorded (see Format.ways)."""
    (name,) = connection.execute("select format from trace where trace_id = $1", [state.trace_id]).fetchone() or ("",)
    form = format_of(name)
    of_pytorch, of_amd = connection.execute(_FRAMEWORK, [state.trace_id]).fetchone() or (True, False)
    found = {way: form.way(way, of_pytorch=of_pytorch, of_amd=of_amd) for way in form.ways}
    ways = {way: words for way, words in found.items() if words}
    connection.execute(
        "create or replace temp table _way as select unnest($1::varchar[]) as name, unnest($2::varchar[]) as words",
        [list(ways), list(ways.values())],
    )


# Analyses on two connections hold their tables at the same time: 80 MiB more, of 6 M slices. In less memory than this
# they run one after the other.
_ENOUGH_FOR_TWO = 1 << 30

# What a capture beside a trace needs before it tells of graphs; it has no steps.
_OF_CAPTURES = ("host_name", "nesting", "communication", "launch", "gpu_slice", "module_slice", "module_timeline")


class AnalysisStep(NamedTuple):
    """An analysis in Python: its function, and the names of the tables that it reads and makes, separated by blanks."""

    run: Callable[[Connection, AnalysisState], None]
    reads: str
    makes: str


def _cut_at_owner(intervals: str, pieces: str, owner: str = "host") -> AnalysisStep:
    """Return the analysis that makes the table `pieces` of the table `intervals`, cut at the timeline _OWNER_timeline."""
    return AnalysisStep(
        lambda connection, _state: cut_intervals(connection, intervals, pieces, owner),
        f"{intervals} _{owner}_timeline _{owner}_extent",
        pieces,
    )


# What SQL alone cannot say well.
_IN_PYTHON = {
    "nesting": AnalysisStep(_nest_host, "_frame_name", "cpu_slice _slice_cut _slice_ended_under _slice_outlasting"),
    "steps": AnalysisStep(_find_steps, "_gpu_launch serving_mark", "_gpu_step phase_of_run step unit"),
    "way": AnalysisStep(_fill_way, "program", "_way"),
    "host_timeline": AnalysisStep(
        lambda connection, _state: fill_host_timeline(connection),
        "_host_slice _host_running _phase_interval _slice_cut _slice_ended_under _slice_outlasting"
        " _thread_without_python",
        "_host_timeline _host_extent",
    ),
    "idle_piece": _cut_at_owner("_idle_interval", "_idle_piece"),
    "idle_hole_piece": _cut_at_owner("_idle_hole", "_idle_hole_piece"),
    "overhead_piece": _cut_at_owner("_overlaid", "_overhead_piece", "overhead"),
    "step_piece": _cut_at_owner("_step_interval", "_step_piece"),
    "fetch_piece": _cut_at_owner("_fetch_interval", "_fetch_piece"),
    "worker_piece": _cut_at_owner("_data_worker_step", "_worker_piece"),
    "host_debt": AnalysisStep(lambda connection, _state: fill_debt(connection), "_dry _gap _idle_piece", "_owed"),
    "idle_gap": AnalysisStep(
        lambda connection, state: fill_gaps(connection, state.trace_id),
        "_gap _gap_drain _gap_fault _gap_slice _gap_word _owed",
        "_gap_late idle_gap wait_debt",
    ),
    "stall_debt": AnalysisStep(
        lambda connection, state: fill_stall_debt(connection, state.trace_id),
        "_gap _host_slice host_stall idle_gap_cause",
        "stall_cost",
    ),
    "run_change": AnalysisStep(
        lambda connection, state: fill_changes(connection, state.trace_id), "run_step", "run_change"
    ),
    "process_group": AnalysisStep(
        lambda connection, state: fill_process_groups(connection, state.trace_id, state.choice.mesh),
        "_collective_around collective_slice launch_state step",
        "mesh_axis process_group",
    ),
    "kernel_family": AnalysisStep(lambda connection, _state: fill_classes(connection), "", "_kernel_class"),
    "reported_kernel": AnalysisStep(
        lambda connection, state: match_reports(connection, state.trace_id), "", "import_note reported_kernel"
    ),
    "module_timeline": AnalysisStep(
        lambda connection, _state: fill_timeline(connection), "_module_slice", "_module_call _module_timeline"
    ),
    "layer": AnalysisStep(
        lambda connection, state: fill_layers(connection, state.trace_id),
        "_module_work collective_slice kernel_occupancy module step unit",
        "layer",
    ),
    "compiled_kernel": AnalysisStep(
        lambda connection, state: fill_compiled(connection, state.trace_id, state.compiled),
        "graph_kernel graph_operator",
        "compiled_kernel",
    ),
    "compiled_module": AnalysisStep(
        lambda connection, state: fill_compiled_modules(connection, state.trace_id, state.compiled_graphs),
        "",
        "compiled_module",
    ),
    "signature_ceiling": AnalysisStep(
        lambda connection, state: fill_ceilings(connection, state.trace_id),
        "_element_type _signature_cost",
        "_signature_ceiling",
    ),
    "graph_match": AnalysisStep(
        lambda connection, state: fill_matches(connection, state.captures),
        "_module_timeline serving_mark",
        "_capture_kernel _capture_operator _graph_launch _graph_match",
    ),
    "replay": AnalysisStep(
        lambda connection, state: fill_replay(connection, state.trace_id, state.free_memory),
        "_event_recorded _host_slice _host_timeline _idle_cause _training_thread collective_slice data_fetch graph_kernel"
        " graph_operator host_stall idle_gap idle_gap_cause stall_cost step stream_wait time_ledger",
        "critical_path dependency replay replay_step",
    ),
}

# Planning these analyses takes tens of milliseconds: they run where the rows that they are made from are there.
_RUN_IF_ANY = {
    "graph_kernel": "_graph_launch",
    "host_stall": "_long_stretch",
    "module": "(from _module_slice select 1 union all from graph_kernel select 1 where module is not null"
    " union all from graph_region select 1 where module is not null union all from compiled_module select 1)",
    "serving_mark": "_serving_annotation",
    "stall_debt": "host_stall",
}


@cache
def flow_of(name: str) -> Flow:
    """Return the tables that the analysis `name` reads and makes; for SQL they come from the comments at the head of its file."""
    if name in _IN_PYTHON:
        step = _IN_PYTHON[name]
        return Flow(frozenset(step.reads.split()), frozenset(step.makes.split()))
    return flow_of_text(sql.statement(_path_of(name)))


@cache
def _sorted_members(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of analyses, each after those that make the tables that it reads; otherwise in the order given."""
    return tuple(in_order(names, {name: flow_of(name) for name in names}))


@cache
def sort_topics(topics: tuple[Topic, ...]) -> tuple[Topic, ...]:
    """Return the topics, each after those that make the tables that its analyses read; otherwise in the order listed."""
    flows = {}
    for topic in topics:
        members = [flow_of(name) for name in topic.members]
        makes = frozenset[str]().union(*(flow.makes for flow in members))
        flows[topic] = Flow(frozenset[str]().union(*(flow.reads for flow in members)) - makes, makes)
    return tuple(in_order(topics, flows))


def fill(
    connection: Connection,
    trace_id: int,
    choice: Choice = AS_FOUND,
    progress: Callable[[str, float], None] = lambda _stage, _share: None,
    *,
    memory: int | None = None,
    captures: Sequence[Captured] = (),
    compiled: Sequence[Compiled] = (),
    compiled_graphs: Sequence[CompiledGraph] = (),
) -> None:
    """Run all analyses of a trace whose rows are staged; `choice` is what the user says about its steps.

    `captures` are CUDA-graph captures of other traces of the program, `compiled` kernels and
    `compiled_graphs` graphs as torch.compile describes them.
    `progress` gets the words for a topic that runs, and the share of the analyses that is done (0 to 1). `memory` is given for a
    large trace: the bytes that this process may hold. Then each analysis is committed, since uncommitted rows stay in memory;
    a small trace is committed after JOINED, TOPICS and NOTES, since every commit waits for the disk.
    """
    state = AnalysisState(trace_id, choice, captures, compiled, compiled_graphs)
    parts = (sort_topics(JOINED), sort_topics(TOPICS), NOTES)
    total = sum(topic.weight for topics in parts for topic in topics)
    before = 0
    for topics in parts:
        weight = sum(topic.weight for topic in topics)
        stage = partial(_report_part, progress, before / total, weight / total)
        if topics is parts[1] and memory is not None and memory >= _ENOUGH_FOR_TWO and _thread_count(connection) > 1:
            _run_on_two_connections(connection, topics, state, stage, memory)
        else:
            _run_topics(connection, topics, state, stage, memory)
        before += weight
    if captures:
        sql.run(connection, "analysis/graphs/unused_capture.sql", trace_id=trace_id)


def read_capture(connection: Connection, trace_id: int) -> Captured:
    """Return the CUDA-graph capture in a trace whose rows are staged; all tables are left as they were."""
    connection.begin()
    connection.execute("create temp table _gpu_step (slice_id bigint, step integer)")
    run(connection, _OF_CAPTURES, AnalysisState(trace_id))
    captured = read_captured(connection, with_eager=True)
    captured = add_known_nodes(connection, captured)
    connection.rollback()
    return captured


def analyse(connection: Connection, trace_id: int) -> None:
    """Run the analyses of TOPICS for a trace whose slices and steps are in their tables already."""
    _run_topics(connection, sort_topics(TOPICS), AnalysisState(trace_id))


def _run_topics(
    connection: Connection,
    topics: Sequence[Topic],
    state: AnalysisState,
    progress: Callable[[str, float], None] = lambda _stage, _share: None,
    memory: int | None = None,
) -> None:
    """Run the analyses of the topics whose input the trace has, those in `state.done` excepted.

    Parameters are as of fill(): with `memory`, each analysis is a transaction of its own, else all together are one.
    """
    if memory is not None:
        state.commit = partial(commit_and_begin, connection)
        state.free_memory = partial(free_memory, connection, state)
    asked = _topics_with_input(connection, topics)
    if not asked:
        return
    if memory is None:
        progress(asked[0].words, 0)
        names = dict.fromkeys(name for topic in asked for name in topic.analyses if name not in state.done)
        _run_at_once(connection, tuple(names), state)
        return
    total = sum(topic.weight for topic in asked)
    before = 0.0
    for topic in asked:
        for name in topic.analyses:
            progress(topic.words, before / total)
            if name not in state.done:
                _run_at_once(connection, (name,), state, memory)
            before += topic.weight / len(topic.analyses)


def _topics_with_input(connection: Connection, topics: Sequence[Topic]) -> list[Topic]:
    """Return the topics whose input the trace has: planning a query costs milliseconds even where it finds nothing."""
    present = _find_present(connection) if any(topic.needs for topic in topics) else {}
    return [topic for topic in topics if topic.needs is None or present[topic.needs]]


def _report_part(progress: Callable[[str, float], None], begin: float, length: float, words: str, share: float) -> None:
    """Report `share` (0 to 1) of a part of the analyses that lasts from `begin` for `length`, shares of all of them."""
    progress(words, begin + length * share)


def _run_on_two_connections(
    connection: Connection,
    topics: Sequence[Topic],
    state: AnalysisState,
    progress: Callable[[str, float], None],
    memory: int,
) -> None:
    """Run the analyses of the topics as _run_topics() does, those on another connection that share no temporary table.

    When memory runs out, what is left runs one after the other, each on its connection.
    """
    asked = _topics_with_input(connection, topics)
    weights = {
        name: (topic.words, topic.weight / len(topic.analyses)) for topic in asked[::-1] for name in topic.analyses
    }
    names = list(dict.fromkeys(name for topic in asked for name in topic.analyses if name not in state.done))
    flows = {name: flow_of(name) for name in names}
    made = frozenset[str]().union(*(flow_of(name).makes for name in state.done))
    later = frozenset[str]().union(*(flow_of(name).reads for topic in NOTES for name in topic.members))
    tied, others = split_analyses(names, flows, made | later)

    total = sum(weight for _, weight in weights.values())

    def run_and_report(on: Connection, name: str) -> None:
        progress(weights[name][0], sum(weights[other][1] for other in weights if other in state.done) / total)
        _run_at_once(on, (name,), state, memory)

    # commits and limits of memory are the main connection's
    apart = replace(state, commit=do_nothing, free_memory=do_nothing)
    second = SecondConnection(
        connection.cursor(), others, find_earlier(names, flows), partial(_run_and_commit, state=apart), state.done
    )
    state.run_alone = second.stop
    try:
        second.start()
        for name in tied:
            if not second.wait_until_ready(name):
                break
            run_and_report(connection, name)
            second.wake_thread()
        second.finish()
        for name in names:
            if name not in state.done:
                run_and_report(second.connection if name in others else connection, name)
    finally:
        second.close()
    state.run_alone = do_nothing


def _run_at_once(
    connection: Connection, analyses: tuple[str, ...], state: AnalysisState, memory: int | None = None
) -> None:
    """Run the analyses in one transaction, and add them to `state.done`.

    If DuckDB runs out of memory, they are run again, alone, with one thread and all of `memory` (bytes).
    """
    try:
        _run_and_commit(connection, analyses, state)
    except duckdb.OutOfMemoryException:
        connection.rollback()
        state.run_alone()
        _try_again(connection, analyses, state, memory)
    state.done.update(analyses)
    restore_memory_limit(connection, state)


def _try_again(connection: Connection, analyses: tuple[str, ...], state: AnalysisState, memory: int | None) -> None:
    # One thread holds less at a time than several, but spills more: the next analysis has all of them again.
    """Run the analyses in a new transaction with one thread, and with a memory limit of `memory` bytes if that is given."""
    threads = _thread_count(connection)
    connection.execute("set threads = 1")
    given, state.free_memory = state.free_memory, do_nothing
    if memory is not None:
        set_memory_limit(connection, state, memory)
    _run_and_commit(connection, analyses, state)
    state.free_memory = given
    connection.execute(f"set threads = {threads}")


def _thread_count(connection: Connection) -> int:
    """Return the number of DuckDB's threads."""
    ((threads,),) = connection.execute("select current_setting('threads')").fetchall()
    return int(threads)


def _find_present(connection: Connection) -> dict[str, bool]:
    """Return for each kind of input that a topic needs (a column of present.sql) whether the trace has it."""
    found = sql.run(connection, "analysis/present.sql")
    names = [column[0] for column in found.description]
    return dict(zip(names, found.fetchone() or (), strict=True))


def _run_and_commit(connection: Connection, analyses: Sequence[str], state: AnalysisState) -> None:
    """Run the analyses in one transaction, and commit it."""
    connection.begin()
    run(connection, analyses, state)
    connection.commit()


def run(connection: Connection, analyses: Sequence[str], state: AnalysisState) -> None:
    """Run the analyses named, in the order given, without those whose input tables are empty.

    What later analyses need goes into `state`.
    """
    for name in analyses:
        if name in _RUN_IF_ANY and not connection.execute(f"from {_RUN_IF_ANY[name]} limit 1").fetchall():
            continue
        if name in _IN_PYTHON:
            _IN_PYTHON[name].run(connection, state)
        else:
            sql.run(connection, _path_of(name), **state.parameters())


def _path_of(name: str) -> str:
    """Return the path of the SQL file of an analysis, relative to the package."""
    return sql.shelved("analysis").get(name, f"analysis/{name}.sql")
