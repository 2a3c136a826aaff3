"""Predict what changes of the host's work win where no GPU works: time that leaves the training thread leaves the step."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import asdict

from traceq.database.query import ask
from traceq.database.sql import execute, statement
from traceq.diagnosis.query import RuleQuery
from traceq.diagnosis.subject import Subject


class HostChange(msgspec.Struct, frozen=True):
    """A change of the host's work: of slices whose names match the GLOB pattern `glob`, or of categories of host_ledger.

    The share `left` (0..1) of their time stays. With `workers`, that many threads or processes do the work beside the
    rest of the step.
    """

    glob: str | None = None
    categories: tuple[str, ...] = ()
    left: float = 0.0
    workers: float | None = None


class HostWon(msgspec.Struct, frozen=True):
    """The predicted joint gain of changes, ns per counted step: likely, with bounds; negative where steps get longer.

    For each change, `held_ns` is the training thread's time that it applies to, `elsewhere_ns` the time on other
    threads in slices of the same names. `left_ns` is the rest of the training thread's time, by category of
    host_ledger. All are in ns per counted step.
    """

    low_ns: float
    likely_ns: float
    high_ns: float
    held_ns: tuple[float, ...]
    elsewhere_ns: tuple[float, ...]
    left_ns: Mapping[str, float]


_QUERY = RuleQuery(
    statement("diagnosis/sql/host_change.sql"),
    {"uses": "host_time, host_cores", "low": "1", "likely": "1", "high": "1"},
)


def measure_host_changes(subject: Subject, changes: Sequence[HostChange]) -> HostWon:
    """Predict what the changes, made together, gain in the counted steps of a trace without GPU work."""
    numbered = json.dumps([{"number": number, **asdict(change)} for number, change in enumerate(changes)])
    try:
        subject.workspace.make_used(_QUERY)
        execute(
            subject.connection,
            statement("diagnosis/sql/host_changed.sql"),
            {"trace_id": subject.trace_id, "changes": numbered},
        )
        found = ask(
            subject.connection,
            statement("diagnosis/sql/host_change_found.sql"),
            trace_id=subject.trace_id,
            changes=numbered,
        )
        claim = subject.claim_host(_QUERY)
    finally:
        subject.workspace.drop()
        subject.connection.execute("drop table if exists temp.host_changed")
    row = {"saving_low_ns": 0.0, "saving_ns": 0.0, "saving_high_ns": 0.0} if claim is None else claim.row
    of_changes = [row for row in found if row["number"] is not None]
    return HostWon(
        low_ns=float(row["saving_low_ns"]),
        likely_ns=float(row["saving_ns"]),
        high_ns=float(row["saving_high_ns"]),
        held_ns=tuple(row["held"] / subject.steps for row in of_changes),
        elsewhere_ns=tuple(row["elsewhere"] / subject.steps for row in of_changes),
        left_ns={row["category"]: row["held"] / subject.steps for row in found if row["number"] is None},
    )
