"""The identities that hold in every trace database, in one list, and how they are checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from traceq.database.sql import statement

if TYPE_CHECKING:
    import duckdb


class Identity(msgspec.Struct, frozen=True):
    """A rule that holds in every trace database, and the unit that is checked.

    The query `name`.sql among the identities of a topic of traceq/analysis/ returns a row per `unit`: the columns
    `is_broken` and `place` say whether the rule is broken, and where; the columns before them order the places.
    """

    topic: str
    name: str
    rule: str
    unit: str


class IdentityCheck(msgspec.Struct, frozen=True):
    """The outcome of a check: the number of rows checked, of rows that break the rule, and the first of these or None."""

    identity: Identity
    checked: int
    broken: int
    example: str | None


IDENTITIES = (
    Identity("nesting", "slice_time", "slices lie within the trace, none ends before it starts", "slices"),
    Identity("nesting", "slice_id", "an id belongs to one slice", "slices"),
    Identity("nesting", "nesting", "a host slice starts within its parent, one deeper", "host slices"),
    Identity("launches", "launch", "GPU slices are joined with the calls that launched them", "GPU slices"),
    Identity("steps", "step_order", "steps follow each other without a gap", "steps"),
    Identity("steps", "step_of_slice", "a GPU slice belongs to the step that launched it", "GPU slices"),
    Identity("steps", "step_stats", "the statistics of steps are those of the steps that count", "steps"),
    Identity("ledger", "activity_segment", "the segments of a GPU's timeline do not overlap", "segments"),
    Identity("ledger", "activity_step", "the segments of each GPU add up to each step", "GPUs x steps"),
    Identity("ledger", "activity_busy", "a GPU is busy exactly while one of its slices runs", "GPUs"),
    Identity("ledger", "time_ledger", "the ledger of each GPU adds up to each step", "GPUs x steps"),
    Identity("ledger", "time_ledger_activity", "the ledger is the timeline, summed", "entries"),
    Identity("ledger", "time_ledger_busy", "no GPU is busier than the time it has", "GPUs x steps"),
    Identity("ledger", "idle_gap", "idle gaps are the idle segments", "gaps"),
    Identity("ledger", "idle_gap_cause", "the causes of a gap add up to it", "gaps"),
    Identity("ledger", "idle_culprit", "the host slices in a gap add up to its causes", "gaps"),
    Identity("ledger", "idle_culprit_slice", "no host slice has more idle time than it is long", "host slices"),
    Identity("ledger", "wait_debt", "gaps owe waits no more than either lasted", "entries"),
    Identity("ledger", "host_ledger", "the host's ledger adds up to each step", "steps"),
    Identity("stalls", "stall_cost", "stalls cost no more than they or the gaps last", "entries"),
    Identity("copies", "copy_overlap", "a copy is overlapped, hidden or exposed", "copies"),
    Identity("copies", "copy_activity", "the copies of a GPU add up to its timeline", "entries"),
    Identity("copies", "copy_total", "exposed copies are the ledger's", "entries"),
    Identity("copies", "copy_could_overlap", "copies could hide behind no more than was computed", "GPUs x steps"),
    Identity(
        "communication",
        "communication_overlap",
        "communication is overlapped or exposed, as in the ledger",
        "GPUs x steps",
    ),
    Identity("communication", "collective_slice", "a slice of communication is overlapped or exposed", "GPU slices"),
    Identity("communication", "collective_activity", "the communication of a GPU adds up to its timeline", "GPUs"),
    Identity("job", "job_path", "the critical path of a job adds up to it without a hole", "jobs"),
    Identity("kernels", "kernel_occupancy", "kernels share the time in which any runs", "GPUs"),
    Identity("layers", "layer", "layers and what lies outside of them are all compute kernels", "GPUs"),
    Identity("data", "data_fetch", "what is done in a fetch adds up to it", "fetches"),
    Identity("data", "data_stall", "waiting for input is what the ledgers say", "steps"),
    Identity("memory", "allocation_peak", "allocations add up to the peak, and to the state at the end", "GPUs"),
    Identity("replay", "dependency", "an edge joins two slices, and its lag is the time between them", "edges"),
    Identity("replay", "critical_path", "the critical path adds up to each step without a hole", "steps"),
    Identity("replay", "replay", "savings lie in their bounds; a likely one needs a close replay", "scenarios"),
    Identity("replay", "replay_busy", "work that is gone saves no more than it has on the critical path", "scenarios"),
    Identity("replay", "replay_idle", "without idle time steps last as long as the busiest stream", "scenarios"),
)


def check(connection: duckdb.DuckDBPyConnection, trace_id: int) -> tuple[IdentityCheck, ...]:
    """Return the outcome of every identity in IDENTITIES for the trace. The cost is linear in the events of the database."""
    return tuple(check_one(connection, identity, trace_id) for identity in IDENTITIES)


def check_one(connection: duckdb.DuckDBPyConnection, identity: Identity, trace_id: int) -> IdentityCheck:
    """Return the outcome of this identity for the trace: rows checked, rows that break it, and where the first of these is."""
    rows = statement(f"analysis/{identity.topic}/identities/{identity.name}.sql")
    ((checked, broken, example),) = connection.execute(
        "select count(*), count(*) filter (is_broken), min(judged) filter (is_broken) from (" + rows + ") as judged",  # noqa: S608 - of traceq itself
        {"trace_id": trace_id},
    ).fetchall()
    return IdentityCheck(identity, checked, broken, example and example["place"])
