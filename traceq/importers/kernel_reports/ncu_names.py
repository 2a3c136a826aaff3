"""Names that versions of Nsight Compute give to the same metric, on its pages raw and details."""

from __future__ import annotations

import re
from typing import NamedTuple

from traceq.importers.kernel_reports.cells import Kind


class MetricField(NamedTuple):
    """A column of kernel_report that a metric fills; `rank`: of two that a row has, the lower is taken."""

    column: str
    kind: Kind
    rank: int = 0


# Page details: sections of 2019 (SOL FB, SM [%]), of 2020 (SOL DRAM, SM [%]) and from 2021 on (DRAM Throughput).
_DETAILS = {
    "compute_throughput": ("share", ("Compute (SM) Throughput", "Compute (SM) [%]", "SM [%]", "SOL SM")),
    "memory_throughput": ("share", ("Memory Throughput", "Memory [%]", "SOL Memory")),
    "dram_throughput": ("share", ("DRAM Throughput", "SOL DRAM", "SOL FB")),
    "l2_throughput": ("share", ("L2 Cache Throughput", "SOL L2 Cache", "SOL L2")),
    "l1_throughput": ("share", ("L1/TEX Cache Throughput", "SOL L1/TEX Cache", "SOL L1/TEX", "SOL TEX")),
    "achieved_occupancy": ("share", ("Achieved Occupancy",)),
    "theoretical_occupancy": ("share", ("Theoretical Occupancy",)),
    "dur": ("time", ("Duration",)),
    "sm_clock": ("clock", ("SM Frequency",)),
    "registers_per_thread": ("number", ("Registers Per Thread",)),
    "static_shared": ("bytes", ("Static Shared Memory Per Block",)),
    "dynamic_shared": ("bytes", ("Dynamic Shared Memory Per Block",)),
    "waves": ("number", ("Waves Per SM",)),
    "warp_latency": ("number", ("Warp Cycles Per Issued Instruction", "Warp Cycles Per Issue Active")),
    "blocks": ("number", ("Grid Size",)),
    "threads_per_block": ("number", ("Block Size",)),
    "limit_warps": ("number", ("Block Limit Warps",)),
    "limit_blocks": ("number", ("Block Limit SM",)),
    "limit_registers": ("number", ("Block Limit Registers",)),
    "limit_shared_memory": ("number", ("Block Limit Shared Mem",)),
    "limit_barriers": ("number", ("Block Limit Barriers",)),
}  # fmt: skip
# Page raw, and --metrics. The sections show the first of these.
_RAW = {
    "compute_throughput": ("share", ("sm__throughput.avg.pct_of_peak_sustained_elapsed",)),
    "memory_throughput": ("share", ("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",)),
    "dram_throughput": (
        "share",
        (
            "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
            "dram__throughput.avg.pct_of_peak_sustained_elapsed",
        ),
    ),
    "l2_throughput": ("share", ("lts__throughput.avg.pct_of_peak_sustained_elapsed",)),
    "l1_throughput": (
        "share",
        ("l1tex__throughput.avg.pct_of_peak_sustained_active", "l1tex__throughput.avg.pct_of_peak_sustained_elapsed"),
    ),
    "achieved_occupancy": ("share", ("sm__warps_active.avg.pct_of_peak_sustained_active",)),
    "theoretical_occupancy": ("share", ("sm__maximum_warps_per_active_cycle_pct",)),
    "dur": ("time", ("gpu__time_duration.sum", "gpu__time_duration.avg", "gpu__time_duration.max")),
    "sm_clock": (
        "clock",
        ("smsp__cycles_elapsed.avg.per_second", "sm__cycles_elapsed.avg.per_second", "gpc__cycles_elapsed.avg.per_second"),
    ),
    "registers_per_thread": ("number", ("launch__registers_per_thread",)),
    "static_shared": ("bytes", ("launch__shared_mem_per_block_static",)),
    "dynamic_shared": ("bytes", ("launch__shared_mem_per_block_dynamic",)),
    "waves": ("number", ("launch__waves_per_multiprocessor",)),
    "warp_latency": (
        "number",
        (
            "smsp__average_warp_latency_per_inst_issued.ratio",
            "smsp__average_warps_active_per_issue_active.ratio",
        ),
    ),
    "blocks": ("number", ("launch__grid_size",)),
    "threads_per_block": ("number", ("launch__block_size",)),
    "limit_warps": ("number", ("launch__occupancy_limit_warps",)),
    "limit_blocks": ("number", ("launch__occupancy_limit_blocks",)),
    "limit_registers": ("number", ("launch__occupancy_limit_registers",)),
    "limit_shared_memory": ("number", ("launch__occupancy_limit_shared_mem",)),
    "limit_barriers": ("number", ("launch__occupancy_limit_barriers",)),
}  # fmt: skip
FIELDS: dict[str, MetricField] = {
    name: MetricField(column, kind, rank)  # type: ignore[arg-type]
    for names_of in (_DETAILS, _RAW)
    for column, (kind, names) in names_of.items()
    for rank, name in enumerate(names)
}
# In the order of kernel_occupancy.limiter: of equal limits the first counts.
LIMITS = ("warps", "blocks", "registers", "shared_memory", "barriers")

# Stalls as cycles of a warp for an issued instruction, as shares of its time, and as samples; the *_not_issued ones, which
# repeat them without the warps that issue, are left out.
_REASON = r"(?P<reason>(?!\w*_not_issued)\w+?)"
_STALLS = {
    "cycles": (
        re.compile(rf"smsp__average_warps_issue_stalled_{_REASON}_per_issue_active\.ratio"),
        re.compile(rf"smsp__average_warp_latency_issue_stalled_{_REASON}\.ratio"),
    ),
    "share": (re.compile(rf"smsp__warp_issue_stalled_{_REASON}_per_warp_active\.pct"),),
    "samples": (
        re.compile(rf"smsp__pcsamp_warps_issue_stalled_{_REASON}(\.sum)?"),
        re.compile(rf"group:smsp__pcsamp_warp_stall_reasons:{_REASON}"),
    ),
}
_STALL_OF_DETAILS = re.compile(r"Stall (?P<reason>[A-Z][\w ]*)")
# What the rule on stalls says each of them waits for, in the words that all versions have.
_PHRASES = (
    (re.compile(r"scoreboard dependency on an? L1TEX", re.IGNORECASE), "long_scoreboard"),
    (re.compile(r"scoreboard dependency on an? MIO", re.IGNORECASE), "short_scoreboard"),
    (re.compile(r"local and global \(LG\)", re.IGNORECASE), "lg_throttle"),
    (re.compile(r"MIO \(memory input/output\) instruction queue|\bMIO\b.* queue", re.IGNORECASE), "mio_throttle"),
    (re.compile(r"instruction queue for texture", re.IGNORECASE), "tex_throttle"),
    (re.compile(r"execution pipe to be available|math pipe", re.IGNORECASE), "math_pipe_throttle"),
    (re.compile(r"CTA barrier", re.IGNORECASE), "barrier"),
    (re.compile(r"fixed latency execution dependency", re.IGNORECASE), "wait"),
    (re.compile(r"immediate constant", re.IGNORECASE), "imc_miss"),
    (re.compile(r"instruction cache miss|next instruction fetched", re.IGNORECASE), "no_instruction"),
    (re.compile(r"branch target", re.IGNORECASE), "branch_resolving"),
    (re.compile(r"memory barrier", re.IGNORECASE), "membar"),
    (re.compile(r"micro scheduler to select", re.IGNORECASE), "not_selected"),
    (re.compile(r"memory instructions to (?:complete|be committed)", re.IGNORECASE), "drain"),
    (re.compile(r"dispatch", re.IGNORECASE), "dispatch_stall"),
)
_RULE = re.compile(
    r"spends (?P<cycles>[\d.,]+) cycles being stalled (?P<what>.*?)\.(?: |$).*?about (?P<share>[\d.,]+)%", re.DOTALL
)


class StallName(NamedTuple):
    """A reason of a stall, and what its metric counts: cycles, share or samples."""

    reason: str
    counts: str


def name_stall(metric: str) -> StallName | None:
    """Return the stall that a metric of the page raw or details is about; None for other metrics."""
    for counts, patterns in _STALLS.items():
        for pattern in patterns:
            if (found := pattern.fullmatch(metric)) is not None:
                return StallName(found["reason"], counts)
    if (found := _STALL_OF_DETAILS.fullmatch(metric)) is not None:
        return StallName(found["reason"].lower().replace(" ", "_"), "cycles")
    return None


class RuleStall(NamedTuple):
    """A stall as the rule CPIStall of the page details tells of it; `cycles` and `share` (percent) are text."""

    reason: str
    cycles: str
    share: str


def read_stall_rule(text: str) -> RuleStall | None:
    """Return the stall that the description of a rule is about; None for one of something else, or of an unknown stall."""
    found = _RULE.search(text)
    if found is None:
        return None
    reason = next((reason for phrase, reason in _PHRASES if phrase.search(found["what"])), None)
    return None if reason is None else RuleStall(reason, found["cycles"], found["share"])
