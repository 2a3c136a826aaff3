"""From the tables about records of collectives to the report on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from traceq.database.query import ask
from traceq.importers.rows import Notes
from traceq.reports.collectives.model import (
    CollectiveCost,
    CollectivesReport,
    LateRank,
    LinkFamily,
    SampleCost,
    SlowLink,
    Summary,
)
from traceq.reports.queries import read_rows

if TYPE_CHECKING:
    import duckdb

# Fewer waits than this share of the time in collectives are not told.
_WORTH_TELLING = 0.01


def read_collectives(
    connection: duckdb.DuckDBPyConnection, trace_id: int, files: int, notes: Notes
) -> CollectivesReport:
    """Return the report on the records that the tables hold for the trace; `notes` are those on their `files` files."""
    (facts,) = read_rows(connection, "inspected_summary", trace_id=trace_id)
    drifts = {
        tuple(row[name] for name in _CLASS): row for row in read_rows(connection, "inspected_drift", trace_id=trace_id)
    }
    names = _name_processes(connection, trace_id)
    summary = Summary(
        files=files,
        dropped=_count_notes(notes, "inspector_dropped"),
        damaged=_count_notes(notes, "inspector_damaged") + _count_notes(notes, "inspector_unfinished"),
        **facts | {"sources": tuple(facts["sources"] or ())},
    )
    families = tuple(LinkFamily(**row) for row in read_rows(connection, "inspected_family", trace_id=trace_id))
    return CollectivesReport(
        summary=summary,
        costs=tuple(
            _make_cost(row, drifts.get(tuple(row[name] for name in _CLASS)))
            for row in read_rows(connection, "inspected_cost", trace_id=trace_id)
        ),
        families=families,
        slow_links=tuple(_make_slow_link(row, names) for row in read_rows(connection, "slow_link", trace_id=trace_id)),
        late_ranks=tuple(
            LateRank(names[row.pop("process")], **row)
            for row in read_rows(connection, "inspected_late", trace_id=trace_id, least=_WORTH_TELLING)
        ),
        samples=tuple(SampleCost(**row) for row in read_rows(connection, "inspected_sample", trace_id=trace_id)),
        no_links=None if families else _explain_no_links(summary),
        no_late=None if summary.matched else _explain_no_late(summary),
        notes=tuple(text for _, _, text in notes),
    )


_CLASS = ("op", "message_bytes", "group_size", "nodes")


def _count_notes(notes: Notes, code: str) -> int:
    return sum(count for (_, of, _), count in notes.items() if of == code)


def _make_cost(row: dict[str, Any], drift: dict[str, Any] | None) -> CollectiveCost:
    """Return a row of inspected_cost with its drift over the record; None where it has too few operations for that."""
    return CollectiveCost(
        **row,
        change=None if drift is None else drift["change"],
        dip=None if drift is None else drift["dip"],
        periods=() if drift is None else tuple(drift["periods"]),
    )


def _name_processes(connection: duckdb.DuckDBPyConnection, trace_id: int) -> dict[int, str]:
    """Return a name for each process: its rank where the records tell, else its host and pid."""
    rows = ask(
        connection,
        "select process, rank, host, pid from inspected_process where trace_id = $trace_id",
        trace_id=trace_id,
    )
    return {row["process"]: name_process(row["rank"], row["host"], row["pid"], row["process"]) for row in rows}


def name_process(rank: int | None, host: str | None, pid: int | None, process: int) -> str:
    """Return what a process is called: rank 13, node-3:4711, or process 13."""
    if rank is not None:
        return f"rank {rank}"
    return f"process {process}" if pid is None else f"{host or 'pid'}:{pid}"


def _make_slow_link(row: dict[str, Any], names: dict[int, str]) -> SlowLink:
    """Return a row of slow_link with the names of its processes."""
    process, peer = row.pop("process"), row.pop("peer")
    ranks = tuple(names[member] for member in row.pop("members") or ())
    name = names[process] if process is not None else row["host"] or row["group_name"] or row["communicator"]
    del row["group_name"]
    return SlowLink(name=name, peer_name=None if peer is None else names[peer], ranks=ranks, **row)


def _explain_no_links(summary: Summary) -> str:
    """Return why no link could be compared."""
    if not summary.records:
        return "means of several operations hold waiting for other ranks; the plugin's JSON tells"
    if summary.processes == 1:
        return "the files are of one process: what it waited for is in its durations; give the files of all ranks"
    if not summary.matched:
        return "no operation has the records of all its ranks; give the files of all ranks"
    return (
        "links are compared with at least three others of their kind, at 8 transfers of 64 KiB or more each, and hosts must"
        " be known"
    )


def _explain_no_late(summary: Summary) -> str:
    """Return why it cannot be told who comes late."""
    if summary.processes > 1:
        return "no operation has the records of all its ranks; give the files of all ranks"
    return "one process alone does not show for whom it waits; give the files of all ranks"


def list_classes(costs: Sequence[CollectiveCost], most: int) -> tuple[list[CollectiveCost], float]:
    """Return the `most` classes with the largest share of the time, and the share of the others."""
    return [*costs[:most]], sum(cost.share for cost in costs[most:])
