"""The tables of jobs: filled for the whole database, since what is true of one rank depends on the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from traceq.analysis.job.axes import fill_groups
from traceq.analysis.job.graph import NONE, Members
from traceq.analysis.job.groups import infer_groups
from traceq.analysis.job.uneven import KINDS, UnevenCollectives
from traceq.analysis.job.usual import RankOperations
from traceq.analysis.job.window import (
    MOST_REPLAY_ERROR,
    JobSlices,
    JudgedWindow,
    Ranks,
    claim_limit,
    clocks_of,
    find_violations,
    judge_window,
)
from traceq.database import sql

if TYPE_CHECKING:
    import duckdb

    from traceq.analysis.job.clocks import Clocks
    from traceq.analysis.job.graph import Floats, Integers
    from traceq.analysis.job.uneven import UnevenWaits

# Of the time of communication so much has to be matched, or nothing is said of who is late.
LEAST_MATCHED = 0.9

# More collectives that contradict the clocks are wrong matches; fewer are passed over.
_MOST_VIOLATIONS = 0.05

# On all ranks these end when the last one has arrived; an all-to-all ends for each rank with its own part.
_SYMMETRIC = ("all_reduce", "all_gather", "reduce_scatter", "barrier")

_STRAGGLER = pa.schema({
    "place": pa.int32(), "kind": pa.string(), "units": pa.list_(pa.int32()), "label": pa.string(),
    "adds": pa.int64(), "win": pa.int64(),
})  # fmt: skip

_GROUP_STRAGGLER = pa.schema({
    "part": pa.int32(), "place": pa.int32(), "unit": pa.int32(), "adds": pa.int64(), "win": pa.int64(),
})  # fmt: skip

_UNEVEN = pa.schema({
    "match_id": pa.int32(), "wait_source": pa.string(), "late_unit": pa.int32(), "late_by": pa.int64(),
    "late_alone": pa.int64(),
})  # fmt: skip


def fill_jobs(connection: duckdb.DuckDBPyConnection) -> None:
    """Fill the tables of jobs anew from all traces of the database.

    Without a job they end up empty; where the database cannot have one, nothing is done.
    """
    if sql.run(connection, "analysis/job/job_possible.sql").fetchall() == [(False,)]:
        return
    sql.run(connection, "analysis/job/job_clear.sql")
    sql.run(connection, "analysis/job/job_rank.sql")
    if not connection.execute("from job_rank limit 1").fetchall():
        return
    sql.run(connection, "analysis/job/job_slice.sql")
    infer_groups(connection)
    sql.run(connection, "analysis/job/job_message.sql")
    sql.run(connection, "analysis/job/job_match.sql")
    sql.run(connection, "analysis/job/job_root.sql")
    sql.run(connection, "analysis/job/job.sql", least=LEAST_MATCHED)
    windows = connection.execute("select job, time_window from job order by all").fetchall()
    for job, window in windows:
        _fill_window(connection, job, window)
    fill_groups(connection)
    sql.run(connection, "analysis/job/job_absent.sql")


def _fill_window(connection: duckdb.DuckDBPyConnection, job: int, window: int) -> None:
    """Judge one time window of a job, and write the findings, if there are any, into the tables of jobs."""
    place = {"job": job, "time_window": window}
    found = _judge_window(connection, place)
    if found is None:
        return
    sql.run(connection, "analysis/job/job_found.sql", **place, **found)
    sql.run(connection, "analysis/job/straggler.sql", **place, **found)
    sql.run(connection, "analysis/job/group_straggler.sql", **place)
    if found["usual_source"] == "operation":
        sql.run(connection, "analysis/job/job_operation_cause.sql", **place)


def _judge_window(connection: duckdb.DuckDBPyConnection, place: dict[str, int]) -> dict[str, Any] | None:
    """Judge one time window of a job and return its findings as parameters for SQL; None where it cannot be judged.

    The rows of its slices, collectives and ranks are written. The arrays of a large job take as much memory as its tables:
    they are gone when this returns. `place` is the job and the time window.
    """
    slices, slice_ids = _read_slices(connection, place)
    collectives = slices.members.collectives
    if not collectives:
        _write_members(connection, place, None, slice_ids)
        return None
    ranks = _read_ranks(connection, place)
    clocks = clocks_of(ranks.count, slices)
    limit = claim_limit(clocks)
    violations = len(find_violations(slices, clocks))
    found = judge_window(ranks, slices, clocks)
    del slices
    reason = None
    if violations > _MOST_VIOLATIONS * collectives:
        reason = f"{violations} of {collectives} collectives end on one rank before they begin on another"
    elif found is None:
        reason = "its collectives follow each other in different orders on different ranks"
    elif found.replay_error > MOST_REPLAY_ERROR:
        reason = f"a replay of what was recorded is off by {found.replay_error:.0%}"
    _write_clocks(connection, place, clocks, limit, violations, reason)
    _write_members(connection, place, found, slice_ids)
    if found is None:
        return None
    _write(connection, found)
    _insert(connection, "_job_piece", _path_rows(found, slice_ids))
    return _describe_window(found, "place" if ranks.operations is None else "operation")


def _read_slices(connection: duckdb.DuckDBPyConnection, place: dict[str, int]) -> tuple[JobSlices, dict[str, Integers]]:
    """Return the matched communication slices of a window, and their trace and slice ids by column name."""
    rows = sql.run(connection, "analysis/job/job_members.sql", **place, symmetric=list(_SYMMETRIC)).fetchnumpy()
    found: dict[str, Any] = {name: np.asarray(column) for name, column in rows.items()}
    of_members = ("unit", "stream", "ts", "ts_end", "match_id", "blocks")
    of_slices = (
        "origin",
        "group_number",
        "signature",
        "step",
        "tells_clock",
        "is_barrier",
        "is_send",
        "is_between",
        "uneven",
    )
    found["uneven"] = _read_uneven(connection, place)
    slices = JobSlices(Members(*(found[name] for name in of_members)), *(found[name] for name in of_slices))
    return slices, {name: found[name] for name in ("trace_id", "slice_id")}


def _read_uneven(connection: duckdb.DuckDBPyConnection, place: dict[str, int]) -> UnevenCollectives | None:
    """Return the collectives of a window that ranks do not leave together; None without any."""
    rows = sql.run(connection, "analysis/job/job_uneven.sql", **place, ops=list(KINDS)).fetchnumpy()
    if not len(rows["match_id"]):
        return None
    kind = np.array([KINDS[op] for op in rows["op"]])
    return UnevenCollectives(np.asarray(rows["match_id"]), kind, np.asarray(rows["root"]))


def _read_ranks(connection: duckdb.DuckDBPyConnection, place: dict[str, int]) -> Ranks:
    """Return the facts on the ranks of a window: pipeline stages, hosts, and operations."""
    of_window = "from job_rank where job = $job and time_window = $time_window"
    pipeline = connection.execute(f"select coalesce(pp, -1) {of_window} order by unit", place).fetchnumpy()
    hosts = connection.execute(
        f"select host, list(unit order by unit) {of_window} and host is not null group by host order by host", place
    ).fetchall()
    (stages,) = (np.asarray(column, np.int64) for column in pipeline.values())
    return Ranks(len(stages), stages, dict(hosts), _read_operations(connection, place))


def _read_operations(connection: duckdb.DuckDBPyConnection, place: dict[str, int]) -> RankOperations | None:
    """Return the ranks' operations between collectives from the table of operations; None without any."""
    rows = sql.run(connection, "analysis/job/job_operation.sql", **place).fetchnumpy()
    if not len(rows["unit"]):
        return None
    return RankOperations(*(np.asarray(rows[name], np.int64) for name in ("unit", "kind", "ts", "ts_end")))


def _write_clocks(
    connection: duckdb.DuckDBPyConnection,
    place: dict[str, int],
    clocks: Clocks,
    limit: float,
    violations: int,
    reason: str | None,
) -> None:
    """Write each rank's clock, and the window's residual, claim limit (ns), number of violations and reason.

    `reason` says why the window is not judged; None if it is.
    """
    joined = clocks.joined
    rows = pa.table(
        {
            "unit": np.arange(len(joined)),
            "clock_offset": pa.array(_round_ns(clocks.offset), mask=~joined),
            "clock_drift": pa.array(clocks.drift, mask=~joined),
            "clock_samples": clocks.samples,
        }
    )
    _insert(connection, "_job_clock", rows)
    residual = int(clocks.residual) if np.isfinite(clocks.residual) else None
    sql.run(
        connection,
        "analysis/job/job_clock.sql",
        **place,
        residual=residual,
        limit=int(limit),
        violations=violations,
        reason=reason,
    )


def _write_members(
    connection: duckdb.DuckDBPyConnection,
    place: dict[str, int],
    found: JudgedWindow | None,
    slice_ids: dict[str, Integers],
) -> None:
    """Write the communication slices of a window: with the findings on them, or only with their places if `found` is None."""
    if found is not None:
        # of a large job too much to be copied once more
        connection.register("_job_own", _own_times(found, slice_ids))
        sql.run(connection, "analysis/job/job_own.sql", **place, limit=int(found.claim_limit))
        connection.unregister("_job_own")
        if found.waits is not None:
            rows = found.waits.rows
            connection.register("_job_rows", pa.table({
                "trace_id": slice_ids["trace_id"][rows], "slice_id": slice_ids["slice_id"][rows],
                "wait": pa.array(_round_ns(found.waits.wait), mask=np.isnan(found.waits.wait)),
            }))  # fmt: skip
            connection.execute("insert into _job_uneven_wait from _job_rows")
            connection.unregister("_job_rows")
    sql.run(connection, "analysis/job/job_member.sql", **place, is_judged=found is not None)


def _own_times(found: JudgedWindow, slice_ids: dict[str, Integers]) -> pa.Table:
    """Return a row for each communication slice: its wait, own time, usual own time and the slice that has it; ns."""
    graph, members = found.graph, found.graph.members
    unknown = np.zeros(len(members.unit), bool)
    if found.waits is not None:
        unknown[found.waits.rows] = np.isnan(found.waits.wait)
    follows = np.where(graph.is_first, 0, members.end[graph.latest])
    on_path = np.zeros(len(members.unit), bool)
    on_path[found.path.members] = True
    own = np.where(graph.is_first, found.times.first, found.times.own)
    typical = np.isfinite(found.typical) & ~graph.is_first
    return pa.table(
        {
            **slice_ids,
            "unit": members.unit,
            "match_id": found.match,
            "wait": pa.array(
                _round_ns(members.end - members.start - found.times.transfer[members.match]),
                mask=unknown if unknown.any() else None,
            ),
            "own_begins": pa.array(follows, mask=graph.is_first),
            "own": _round_ns(own),
            "usual": pa.array(_round_ns(found.typical), mask=~typical),
            "typical_trace_id": slice_ids["trace_id"][found.typical_member],
            "typical_slice_id": slice_ids["slice_id"][found.typical_member],
            "on_path": on_path,
        }
    )


def _write(connection: duckdb.DuckDBPyConnection, found: JudgedWindow) -> None:
    """Write findings into the temporary tables _job_collective, _job_unit_found (ranks) and _job_straggler."""
    _insert(
        connection,
        "_job_collective",
        pa.table(
            {
                "match_id": np.arange(len(found.transfer)),
                "transfer": _round_ns(found.transfer),
                "ts_end": _round_ns(found.common_end),
            }
        ),
    )
    _insert(
        connection,
        "_job_unit_found",
        pa.table(
            {
                "unit": np.arange(len(found.wins)),
                "stage": found.stage,
                "part": pa.array(found.part, mask=found.part == NONE),
                **{name: _round_ns(getattr(found.rank_time, name)) for name in ("own", "late", "transfer", "wait")},
                "win": pa.array(_round_ns(found.wins), mask=~np.isfinite(found.wins)),
                "group_win": pa.array(_round_ns(found.group_wins), mask=~np.isfinite(found.group_wins)),
            }
        ),
    )
    _insert(connection, "_job_straggler", _straggler_rows(found))
    _insert(connection, "_job_group_straggler", _group_straggler_rows(found))
    _insert(connection, "_job_uneven", _uneven_rows(found.waits))


def _uneven_rows(waits: UnevenWaits | None) -> pa.Table:
    """Return a row for each collective that ranks do not leave together: what tells its waits, and who was waited for."""
    if waits is None:
        return pa.Table.from_pylist([], _UNEVEN)
    source = pa.array(np.where(waits.by_arrival, "arrival", "duration"), mask=np.isnan(waits.wait[waits.heads]))
    lateness = {name: getattr(waits, name) for name in ("late_by", "late_alone")}
    columns = {
        "match_id": waits.uneven.match,
        "wait_source": source,
        "late_unit": pa.array(waits.late_unit, mask=waits.late_unit == NONE),
        **{name: pa.array(_round_ns(times), mask=np.isnan(times)) for name, times in lateness.items()},
    }
    return pa.table(columns).cast(_UNEVEN)


def _path_rows(found: JudgedWindow, slice_ids: dict[str, Integers]) -> pa.Table:
    """Return a row for each piece of the critical path, ns on the common clock; `excess` is own time beyond the usual."""
    graph, pieces = found.graph, found.pieces
    member = pieces.member
    moves = pieces.moves.astype(bool)
    dur, usual = pieces.end - pieces.begin, found.typical[member]
    unknown = moves | graph.is_first[member] | ~np.isfinite(usual)
    excess = np.clip(_round_ns(graph.own[member] - usual), 0, dur)
    kind = np.where(moves, "transfer", np.where(graph.is_first[member], "late_start", "own"))
    return pa.table(
        {
            "place": np.arange(len(member)),
            "kind": kind,
            "unit": graph.members.unit[member],
            **{name: column[member] for name, column in slice_ids.items()},
            "match_id": found.match[member],
            "ts_begin": found.begin + pieces.begin,
            "dur": dur,
            "excess": pa.array(excess, mask=unknown),
        }
    )


def _describe_window(found: JudgedWindow, usual_source: str) -> dict[str, Any]:
    """Return the findings on the window as a whole as parameters for SQL; times in ns, unknown values None."""
    uneven = found.uneven
    return {
        "limit": int(found.claim_limit),
        "dur": int(found.dur),
        "error": found.replay_error,
        "ideal": int(found.ideal),
        "transfer": int(found.path.transfer),
        "late_start": int(found.path.late_start),
        "usual_source": usual_source,
        "slow_stage": uneven.slow_stage if uneven else None,
        "stage_share": uneven.stage_share if uneven and np.isfinite(uneven.stage_share) else None,
        "stage_win": int(uneven.stage_win) if uneven else None,
        "worker_share": found.worker_share if np.isfinite(found.worker_share) else None,
        "steps": found.steps,
        "wanders": found.wanders,
    }


def _straggler_rows(found: JudgedWindow) -> pa.Table:
    """Return a row for each straggler that is named, numbered from 1 in the order in which they were found."""
    rows: list[dict[str, Any]] = [
        {
            "place": number,
            "kind": straggler.kind,
            "units": straggler.units,
            "label": straggler.label,
            "adds": int(straggler.adds),
            "win": int(straggler.win),
        }
        for number, straggler in enumerate(found.stragglers, 1)
    ]
    return pa.Table.from_pylist(rows, _STRAGGLER)


def _group_straggler_rows(found: JudgedWindow) -> pa.Table:
    """Return a row for each late rank of each part of a job that falls into several."""
    rows = [late._asdict() | {"adds": int(late.adds), "win": int(late.win)} for late in found.part_stragglers]
    return pa.Table.from_pylist(rows, _GROUP_STRAGGLER)


def _insert(connection: duckdb.DuckDBPyConnection, name: str, rows: pa.Table) -> None:
    """Make or replace the temporary table `name` with the rows and columns of an Arrow table."""
    connection.register("_job_rows", rows)
    connection.execute(f"create or replace temp table {name} as from _job_rows")
    connection.unregister("_job_rows")


def _round_ns(values: Floats) -> Integers:
    """Return times in ns rounded to integers; NaN becomes 0."""
    return np.nan_to_num(np.rint(values)).astype(np.int64)
