"""Summaries of reports for a history, from the report's JSON, whose keys docs/report.schema.json describes.

Quantities are named as budgets are (docs/check.md): table and key, as step.typical or ledger.compute.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from traceq.common.version import __version__
from traceq.errors import UnusableTrace
from traceq.runs.budgets.budget import SUMS
from traceq.runs.budgets.judge import LEAST_STEPS
from traceq.runs.history.entry import (
    HistoryEntry,
    HistoryQuantity,
    HistoryReport,
    TimeSource,
    name_report,
    name_series,
)
from traceq.runs.history.origin import UNKNOWN, ProgramCommit
from traceq.runs.run import TRIM

Json = Mapping[str, Any]

SCHEMAS = (4,)
"""Versions of the JSON report that can be kept."""

# A trace's clock is that of the world where it shows a time after 2001; ns since 1970.
_EARLIEST = 10**18
_FEWEST_FOR_QUARTILES = 4
_WINDOW = "window"
_SERVING = {
    "output_tokens_per_second": ("serving.tokens", "/s"),
    "token_p50_ns": ("serving.token_p50", "ns"),
    "token_p95_ns": ("serving.token_p95", "ns"),
}


def summarize_report(
    content: Json,
    name: str,
    *,
    added_at: datetime,
    at: datetime | None = None,
    origin: ProgramCommit = UNKNOWN,
    label: str | None = None,
    program: str | None = None,
    facts: Mapping[str, str] = {},
) -> list[HistoryEntry]:
    """Return an entry for each job of the report `content` (by its lowest rank), and for each trace of no job.

    `name` is the source in errors. `at` is when it ran; None takes it from the trace, or from `added_at`. The origin's
    commit is left out where it is younger than the run. Raises UnusableTrace for JSON that is no report.
    """
    try:
        version = content["schema_version"]
        traces = {trace["trace"]["trace_id"]: trace for trace in content["traces"]}
        jobs = content["jobs"]
    except (KeyError, TypeError) as error:
        raise UnusableTrace(f"{name}: is no JSON report: traceq report SOURCE --format json makes one") from error
    if version not in SCHEMAS:
        raise UnusableTrace(
            f"{name}: is a report of schema {version}, this traceq keeps {', '.join(map(str, SCHEMAS))};"
            " report on the trace again"
        )
    entries = []
    try:
        for job, trace in _choose_traces(jobs, traces):
            when, source = _find_time(trace, at, added_at)
            known = origin if origin.made_at is None or origin.made_at <= when else UNKNOWN
            entries.append(
                _summarize_trace(
                    trace, job, added_at=added_at, ran_at=when, ran_at_from=source, origin=known, label=label, program=program,
                    facts=facts,
                )
            )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnusableTrace(f"{name}: is a damaged report ({error!r}); report on the trace again") from error
    return entries


def _choose_traces(jobs: Sequence[Json], traces: Mapping[int, Json]) -> Iterator[tuple[Json | None, Json]]:
    """Yield each job with the trace of its lowest rank that is in the report, then the traces of no job with None."""
    left = dict(traces)
    for job in jobs:
        members = [left.pop(member["trace_id"]) for member in job["members"] if member["trace_id"] in left]
        if members:
            yield job, min(members, key=lambda trace: (trace["trace"]["rank"] or 0, trace["trace"]["trace_id"]))
    yield from ((None, trace) for trace in left.values())


def _find_time(trace: Json, at: datetime | None, added_at: datetime) -> tuple[datetime, TimeSource]:
    """Return when the run was, in UTC, and where that comes from."""
    if at is not None:
        return at, "option"
    begin = trace["trace"]["begin_ns"]
    if begin is not None and _EARLIEST < begin <= added_at.timestamp() * 1e9:
        return datetime.fromtimestamp(begin // 1000 / 1e6, UTC), "trace"
    return added_at, "added"


def _summarize_trace(
    trace: Json,
    job: Json | None,
    *,
    added_at: datetime,
    ran_at: datetime,
    ran_at_from: TimeSource,
    origin: ProgramCommit,
    label: str | None,
    program: str | None,
    facts: Mapping[str, str],
) -> HistoryEntry:
    """Return the entry of one trace of a report and of the job that it stands for."""
    source = trace["trace"]
    device = _find_device(trace)
    gpu = next((found["name"] for found in trace["devices"] if found["device"] == device), None)
    every_fact = {**_list_facts(trace), **facts}
    ranks = source["world_size"] or (job["ranks"] if job is not None else 1) or 1
    batch = _find_batch(trace, every_fact)
    step_name = next((unit["name"] for unit in trace["units"] if unit["is_step"]), None)
    named = program or source["run"]
    report = HistoryReport(
        report_id=name_report(source["sha256"], source["rank"]),
        added_at=added_at,
        ran_at=ran_at,
        ran_at_from=ran_at_from,
        series=name_series(named, gpu, ranks, batch, source["format"], step_name),
        label=label,
        program=named,
        commit=origin.commit,
        branch=origin.branch,
        gpu=gpu,
        ranks=ranks,
        batch=batch,
        format=source["format"],
        step_name=step_name,
        steps=0 if trace["steps"]["source"] == _WINDOW else trace["steps"]["counted"],
        rank=source["rank"],
        file=source["file"].rpartition("/")[2],
        sha256=source["sha256"],
        traceq=__version__,
        outcome=trace["verdict"]["outcome"],
        verdict=trace["verdict"]["text"],
    )
    return HistoryEntry(report, tuple(_list_quantities(trace, job, device)), every_fact)


def _find_device(trace: Json) -> int | None:
    """Return the GPU that the findings are about; None where no step has a GPU ledger."""
    return next((step["device"] for step in trace["step_ledger"]), None)


def _find_batch(trace: Json, facts: Mapping[str, str]) -> float | None:
    """Return the batch that a loader was made with, else the samples per step; None where neither is known."""
    if facts.get("batch_size", "").isdecimal():
        return float(facts["batch_size"])
    return next(
        (work["total"] / work["steps"] for work in trace["throughput"] if work["key"] == "samples" and work["steps"]),
        None,
    )


def _list_facts(trace: Json) -> dict[str, str]:
    """Return what the run was made with, by name; what there are several of has its number behind the name."""
    found = {
        fact["name"] if not fact["instance"] else f"{fact['name']}[{fact['instance']}]": str(fact["value"])
        for fact in trace["made_with"]
    }
    source = trace["trace"]
    told = {
        "producer": source["producer"],
        "producer_version": source["producer_version"],
        "step_source": trace["steps"]["source"],
        "gpus": str(len({step["device"] for step in trace["ledger"]})),
    }
    return found | {name: value for name, value in told.items() if value is not None}


def _list_quantities(trace: Json, job: Json | None, device: int | None) -> Iterator[HistoryQuantity]:
    """Yield the quantities of a trace whose steps are known as such, and those that need no steps."""
    steps = trace["steps"]
    counted = steps["counted"] if steps["source"] != _WINDOW else 0
    if counted:
        yield from _list_step_times(trace)
        yield from _list_times_per_step(trace, device, counted)
    if device is not None and steps["total_ns"]:
        busy = sum(part["dur_ns"] for part in _ledger_of(trace, device) if part["category"] in SUMS["busy"])
        yield HistoryQuantity("gpu.busy", busy / steps["total_ns"], None, None, "share")
    for work in trace["throughput"]:
        yield HistoryQuantity(f"throughput.{work['key']}", work["per_second"], None, None, "/s")
    yield from _list_rest(trace, device)
    if job is not None and job["slowdown"] is not None:
        yield HistoryQuantity("job.slowdown", job["slowdown"], None, None, "x")
        if job["dur_ns"] and job["steps"]:
            yield HistoryQuantity("job.step", job["dur_ns"] / job["steps"], None, None, "ns")


def _list_step_times(trace: Json) -> Iterator[HistoryQuantity]:
    """Yield the statistics of the counted steps' durations, those of which there are enough steps."""
    steps = trace["steps"]
    durations = sorted(step["dur_ns"] for step in trace["step_ledger"])
    if durations:
        left_out = len(durations) // TRIM
        low, high = _find_quartiles(durations)
        typical = statistics.fmean(durations[left_out : len(durations) - left_out])
        yield HistoryQuantity("step.typical", typical, low, high, "ns")
    for name in ("mean", "p50", "p90", "p95", "p99", "max"):
        value = steps[f"{name}_ns"]
        if value is not None and steps["counted"] >= LEAST_STEPS.get(name, 1):
            yield HistoryQuantity(f"step.{name}", value, None, None, "ns")


def _find_quartiles(ordered: Sequence[float]) -> tuple[float | None, float | None]:
    """Return the first and third quartile of sorted numbers, interpolated; None with fewer than 4."""
    if len(ordered) < _FEWEST_FOR_QUARTILES:
        return None, None
    low, _, high = statistics.quantiles(ordered, n=4, method="inclusive")
    return low, high


def _ledger_of(trace: Json, device: int) -> list[Json]:
    """Return the rows of the ledger of one GPU."""
    return [part for part in trace["ledger"] if part["device"] == device]


def _list_times_per_step(trace: Json, device: int | None, counted: int) -> Iterator[HistoryQuantity]:
    """Yield what is ns per step: categories of the ledger and their sums, waits for data, savings by rule."""
    per_step: dict[str, float] = {}
    if device is not None:
        per_step = {part["category"]: part["per_step_ns"] for part in _ledger_of(trace, device)}
    sums = {name: sum(per_step.get(part, 0) for part in parts) for name, parts in SUMS.items()} if per_step else {}
    for name, value in (per_step | sums).items():
        yield HistoryQuantity(f"ledger.{name}", value, None, None, "ns")
    stall = (trace["data"]["stall"] or {}).get("data_stall_ns")
    if stall is not None:
        yield HistoryQuantity("data.stall", stall / counted, None, None, "ns")
    savings: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for finding in trace["findings"]:
        bounds = (finding["saving_ns"], finding["saving_low_ns"], finding["saving_high_ns"])
        savings[finding["rule"]] = [
            before + more for before, more in zip(savings[finding["rule"]], bounds, strict=True)
        ]
    for rule, (value, low, high) in savings.items():
        yield HistoryQuantity(f"findings.{rule}", value, low, high, "ns")
    power = _condition_of(trace, device).get("gpu_power")
    if power is not None and power["unit"] == "W" and trace["steps"]["mean_ns"]:
        yield HistoryQuantity("energy.step", power["mean"] * trace["steps"]["mean_ns"] / 1e9, None, None, "J")


def _condition_of(trace: Json, device: int | None) -> dict[str, Json]:
    """Return the monitors' series of this GPU and of the host, by name; of several disks or links the first."""
    found: dict[str, Json] = {}
    for row in trace["conditions"]:
        if row["device"] in (None, device):
            found.setdefault(row["name"], row)
    return found


def _list_rest(trace: Json, device: int | None) -> Iterator[HistoryQuantity]:
    """Yield peaks of memory, model FLOPs utilization, what a server answers, and the monitors' series."""
    for peak in trace["memory"]["peaks"]:
        if peak["device"] == device and peak["device"] is not None and peak["memory"] == "device":
            yield HistoryQuantity("memory.peak", peak["peak_bytes"], None, None, "bytes")
    for row in trace["kernels"]["mfu"]:
        if row["device"] == device and row["mfu_share"] is not None:
            yield HistoryQuantity("mfu.share", row["mfu_share"], None, None, "share")
    summary = trace["serving"]["summary"]
    for key, (name, unit) in _SERVING.items():
        if summary["steps"] and summary[key] is not None:
            yield HistoryQuantity(name, summary[key], None, None, unit)
    for name, row in _condition_of(trace, device).items():
        yield HistoryQuantity(f"condition.{name}", row["mean"], row["lowest"], row["highest"], row["unit"] or "")
