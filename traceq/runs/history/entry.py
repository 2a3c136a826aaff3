"""A report as a history holds it: one record of facts about the run, its quantities, and what it was made with."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Literal

import msgspec

TimeSource = Literal["option", "trace", "added"]

# Quantities of which more is better; of all others but conditions less is.
_MORE_IS_BETTER = ("throughput.", "mfu.", "gpu.busy", "serving.tokens")
_NEITHER_IS_BETTER = ("condition.",)


class HistoryReport(msgspec.Struct, frozen=True):
    """A row of the table report (runs/history/tables.sql), which describes each field; `ran_at` and `added_at` are UTC."""

    report_id: str
    added_at: datetime
    ran_at: datetime
    ran_at_from: TimeSource
    series: str
    label: str | None
    program: str | None
    commit: str | None
    branch: str | None
    gpu: str | None
    ranks: int
    batch: float | None
    format: str
    step_name: str | None
    steps: int
    rank: int | None
    file: str
    sha256: str
    traceq: str
    outcome: str | None
    verdict: str | None


class HistoryQuantity(msgspec.Struct, frozen=True):
    """A number of a report in `unit`; `low` and `high` bound it within the report, None where nothing does."""

    name: str
    value: float
    low: float | None
    high: float | None
    unit: str


class HistoryEntry(msgspec.Struct, frozen=True):
    """A report with its quantities, in the order of reports, and its facts by key."""

    report: HistoryReport
    quantities: tuple[HistoryQuantity, ...]
    facts: Mapping[str, str]


def name_report(sha256: str, rank: int | None) -> str:
    """Return the report_id of a trace: the first 16 digits of a hash of its content and its rank."""
    return hashlib.sha256(f"{sha256}:{rank}".encode()).hexdigest()[:16]


def name_series(*conditions: object) -> str:
    """Return the hash (8 digits) of the conditions under which reports can be compared."""
    return hashlib.sha256(repr(conditions).encode()).hexdigest()[:8]


def sign_of_worse(name: str) -> int:
    """Return 1 if a larger value of the quantity `name` is worse, -1 if a smaller one is, 0 if neither."""
    if name.startswith(_NEITHER_IS_BETTER):
        return 0
    return -1 if name.startswith(_MORE_IS_BETTER) else 1
