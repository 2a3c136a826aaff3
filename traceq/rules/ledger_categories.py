"""The ledger's categories other than compute, each as a finding: time in which the GPU did no computing.

What it finds
    Per trace and category the time per counted step in which a GPU ran no compute kernel: because it only
    communicated (exposed-communication), copied (exposed-copy-h2d, exposed-copy-d2h, exposed-copy-other), set
    memory (exposed-memset) or had nothing to run, by cause (idle-data, idle-sync, ...).

Why it matters
    Work that runs beside compute costs no wall time; work that stands alone can delay the step by its length.

How it is measured
    From time_ledger: the sum over the counted steps divided by their number, on one device. For exposed time
    that is the device with most of it. For idle time it is the device with least, because a step cannot get
    shorter than the busy time of its busiest device. The saving is an upper bound, its lower bound is 0:
    whether other waits take the place of the removed one, the ledger cannot say. Categories are disjoint on a
    device; over devices nothing is added.

What to try
    The `fix` of each rule below.

References
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from traceq.findings import Clean, Evidence, Finding, NotApplicable, Outcome, Where
from traceq.rules.exposed_rules import EXPOSED
from traceq.rules.idle_rules import IDLE
from traceq.rules.ledger_rule import LedgerRule
from traceq.sql.facts import rows, standalone

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Subject:
    """The trace to judge. `place` completes finding ids, `window_ns` is the sum of its counted steps."""

    trace_id: int
    rank: int | None
    place: str
    window_ns: int
    steps: int
    capture_hint: str


RULES = (*EXPOSED, *IDLE)


def judge(connection: duckdb.DuckDBPyConnection, rule: LedgerRule, subject: Subject) -> Outcome:
    """What `rule` says of the trace `subject`. Raises duckdb.Error when the database cannot be read."""
    times = _time_by_device(connection, rule.category, subject.trace_id)
    if not times:
        return NotApplicable(rule.rule, rule.title, f"no GPU activity in this trace; {subject.capture_hint}")
    if not subject.steps:
        return NotApplicable(rule.rule, rule.title, "no step is left to count, all are excluded")
    device = _device_to_blame(rule, times)
    if times[device] == 0:
        return Clean(rule.rule, rule.title, _why_clean(connection, rule, subject, times))
    return _finding(connection, rule, subject, device)


def _time_by_device(connection: duckdb.DuckDBPyConnection, category: str, trace_id: int) -> dict[int, int]:
    """Device to its time in `category` over the counted steps, ns; 0 where it has none."""
    times: dict[int, int] = {}
    for row in rows(connection, "ledger", trace_id=trace_id):
        times.setdefault(row["device"], 0)
        if row["category"] == category:
            times[row["device"]] = row["dur"]
    return dict(sorted(times.items()))


def _device_to_blame(rule: LedgerRule, times: dict[int, int]) -> int:
    """The device whose time bounds the saving; the lowest number among equals."""
    choose = min if rule.category.startswith("idle_") else max
    return choose(times, key=lambda device: times[device])


def _why_clean(connection: duckdb.DuckDBPyConnection, rule: LedgerRule, subject: Subject, times: dict[int, int]) -> str:
    if rule.category.startswith("idle_"):
        return "at least one GPU has none of it" if any(times.values()) else rule.never
    ran = rows(connection, "activity", trace_id=subject.trace_id)[0][rule.category]
    return "it ran, but never exposed inside the counted steps" if ran else rule.never


def _finding(connection: duckdb.DuckDBPyConnection, rule: LedgerRule, subject: Subject, device: int) -> Finding:
    values: dict[str, Any] = {"trace_id": subject.trace_id, "device": device, "category": rule.category}
    row = rows(connection, "saving", **values)[0]
    saving = row["saving_ns"]
    names = {each["device"]: each["name"] for each in rows(connection, "device", trace_id=subject.trace_id)}
    return Finding(
        rule=rule.rule,
        finding_id=rule.rule + subject.place,
        title=rule.title,
        where=Where(subject.trace_id, subject.rank, device, names.get(device)),
        saving_ns=saving,
        saving_low_ns=0.0,
        saving_high_ns=saving,
        expected_step_ns=subject.window_ns / subject.steps - saving,
        confidence=rule.confidence,
        confidence_reason=rule.confidence_reason,
        evidence=Evidence(tuple(row), (tuple(row.values()),)),
        query=standalone("saving", **values),
        fix=rule.fix,
    )
