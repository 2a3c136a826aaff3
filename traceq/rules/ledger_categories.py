"""The ledger's categories other than compute, each as a finding: time in which the GPU did no computing.

What it finds
    Per trace and category the time per counted step in which a GPU ran no compute kernel: because it only
    communicated (exposed-communication), copied (exposed-copy-h2d, exposed-copy-d2h, exposed-copy-other), set
    memory (exposed-memset) or had nothing to run (device-idle).

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

from traceq.findings import Clean, Confidence, Evidence, Finding, NotApplicable, Outcome, Where
from traceq.sql.facts import rows, standalone

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class LedgerRule:
    """One category of the ledger as a rule; all texts are whole sentences but `title`."""

    rule: str
    category: str
    title: str
    confidence: Confidence
    confidence_reason: str
    never: str
    fix: str


@dataclass(frozen=True)
class Subject:
    """The trace to judge. `place` completes finding ids, `window_ns` is the sum of its counted steps."""

    trace_id: int
    rank: int | None
    place: str
    window_ns: int
    steps: int
    capture_hint: str


_CERTAIN = "The time is measured, not inferred; how much of it a fix wins back is not certain: "

RULES: tuple[LedgerRule, ...] = (
    LedgerRule(
        "exposed-communication",
        "communication",
        "Exposed communication",
        "medium",
        _CERTAIN + "part of it can be waiting for a late rank, and compute that depends on the result cannot move.",
        "no communication ran on any GPU",
        "Let collectives start earlier, so that compute runs beside them: tune bucket_cap_mb of"
        " DistributedDataParallel, set backward_prefetch or forward_prefetch in FSDP, or issue them with"
        " async_op=True and call wait() only where the result is used. If they are longer than the compute"
        " that could hide them, send less or less often (no_sync() during gradient accumulation, bf16"
        " gradients by bf16_compress_hook), and compare the ranks, because waiting for a late rank looks"
        " the same here.",
    ),
    LedgerRule(
        "exposed-copy-h2d",
        "copy_h2d",
        "Exposed host-to-device copies",
        "medium",
        _CERTAIN + "a copy can hide only behind compute that does not need its data.",
        "no host-to-device copy ran on any GPU",
        "Put batches in pinned memory (DataLoader(pin_memory=True)) and copy them with .to(device,"
        " non_blocking=True) on a side stream one batch ahead, so that the copy runs during the previous"
        " batch's compute. Also copy less: send compact types (uint8 images, int32 tokens) and convert on"
        " the GPU, and create constants and masks there with device=....",
    ),
    LedgerRule(
        "exposed-copy-d2h",
        "copy_d2h",
        "Exposed device-to-host copies",
        "medium",
        _CERTAIN + "the host often waits for such a copy: idle time after it can shrink too, or take its place.",
        "no device-to-host copy ran on any GPU",
        "Look for .item(), .cpu(), .tolist(), printing and logging of tensors inside the step; keep"
        " metrics on the GPU and read them every some hundred steps. Where a copy is needed, make it to"
        " pinned memory with non_blocking=True and wait for it with an event when the value is used.",
    ),
    LedgerRule(
        "exposed-copy-other",
        "copy_other",
        "Exposed other copies (GPU to GPU, unified memory)",
        "medium",
        _CERTAIN + "a copy whose result the next kernel reads cannot hide, it can only be avoided.",
        "no other copy ran on any GPU",
        "Avoid copies inside the GPU: write into preallocated tensors instead of torch.cat, clone() and"
        " contiguous(), and let torch.compile fuse what remains. For unified memory prefetch"
        " (cudaMemPrefetchAsync) or copy explicitly, because migration on page faults is slow.",
    ),
    LedgerRule(
        "exposed-memset",
        "memset",
        "Exposed memsets",
        "medium",
        _CERTAIN + "some libraries need cleared workspaces.",
        "no memset ran on any GPU",
        "Use optimizer.zero_grad(set_to_none=True) and torch.empty where every element is written anyway."
        " Many small memsets come from libraries' workspaces; torch.compile or CUDA graphs make their"
        " launches cheaper but keep them.",
    ),
    LedgerRule(
        "device-idle",
        "idle",
        "GPU idle",
        "low",
        "That nothing ran is measured, why is not known here: when the cause of a gap goes, another wait"
        " can take its place, and work that must follow other work cannot close every gap.",
        "",
        "See what the launching host thread does in the gaps (an idle GPU waits for input, for a"
        " synchronizing call such as .item(), or for Python and operators that launch slower than the GPU"
        " executes). Then, in this order: more DataLoader workers with persistent_workers=True, no"
        ' synchronizing calls inside the step, torch.compile(mode="reduce-overhead") or CUDA graphs, a'
        " larger batch.",
    ),
)


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
    choose = min if rule.category == "idle" else max
    return choose(times, key=lambda device: times[device])


def _why_clean(connection: duckdb.DuckDBPyConnection, rule: LedgerRule, subject: Subject, times: dict[int, int]) -> str:
    if rule.category == "idle":
        return "at least one GPU is never idle" if any(times.values()) else "no GPU is ever idle"
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
