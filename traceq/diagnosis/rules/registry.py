"""All rules, in the order in which their claims are served: what names a cause before what only measures its effect."""

from __future__ import annotations

import json
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from traceq.database.sql import package, shelved
from traceq.diagnosis.calibrated import describe_shares
from traceq.diagnosis.manual import Manual, manual_of_header, parse_manual
from traceq.diagnosis.query import RuleQuery, rule_query
from traceq.diagnosis.record import load_record
from traceq.diagnosis.rules.declared import make_finder, make_judgement, make_remarks
from traceq.diagnosis.triage import JUDGED

if TYPE_CHECKING:
    from traceq.diagnosis.rules.declared import Judgement

# Each is RULE.sql on its shelf, with a header, or RULE.py, whose `judge(subject)` does what no header can say.
_PLACES: tuple[str, ...] = (
    # the profiler, and settings that make everything slow
    "program/profiler_overhead",
    "program/launch_blocking",
    "program/swapping",
    "program/cpu_starved",
    "program/host_preempted",
    # what the program does now and then
    "program/checkpoint_blocking",
    "program/logging_in_step",
    "program/garbage_collection",
    # compiling and loading code
    "program/recompilation",
    "program/kernel_autotuning",
    "program/torchscript_compilation",
    "program/first_use",
    "program/lazy_module_loading",
    "program/idle_compile",
    "program/graph_break",
    # servers
    "serving/serving_host_gap",
    # input
    "input/disk_saturated",
    "input/epoch_boundary",
    "input/synchronous_loader",
    "input/slow_storage",
    "input/main_thread_collate",
    "input/worker_imbalance",
    "input/prefetch_depth",
    "input/too_few_workers",
    "input/late_input_copy",
    "input/idle_data",
    # copies
    "copies/unified_memory",
    "copies/parameter_offload",
    "copies/host_device_ping_pong",
    "copies/pageable_copy",
    "copies/blocking_copy",
    "copies/fresh_tensor_copy",
    "copies/many_small_copies",
    "copies/offload_copy",
    "copies/same_stream_copy",
    "copies/layout_copy",
    "copies/redundant_copy",
    "copies/peer_copy",
    "copies/low_copy_bandwidth",
    "copies/exposed_copy_h2d",
    "copies/exposed_copy_d2h",
    "copies/exposed_copy_other",
    # waiting for the GPU, and for memory
    "waiting/time_slices",
    "waiting/item_read",
    "waiting/data_dependent_shape",
    "waiting/device_synchronize",
    "waiting/idle_sync",
    "waiting/allocator_in_step",
    "waiting/pinning_in_step",
    "waiting/idle_allocation",
    # communication
    "communication/data_parallel",
    "communication/gloo_on_gpu",
    "communication/host_collective",
    "communication/sync_batch_norm",
    "communication/late_rank",
    "communication/waiting_not_network",
    "communication/small_messages",
    "communication/same_stream_collective",
    "communication/slow_collective",
    "communication/low_bus_bandwidth",
    "communication/wide_collective",
    "communication/pipeline_bubble",
    "communication/moe_all_to_all",
    "communication/parameter_gather",
    "communication/gradient_overlap",
    "communication/tensor_parallel_collective",
    "communication/exposed_communication",
    "waiting/stream_dependency",
    # launching
    "launching/loop_indexing",
    "launching/unfused_optimizer",
    "launching/slow_launch_call",
    "launching/blocking_os_call",
    "launching/tiny_kernels",
    "launching/host_bound",
    "launching/host_compute",
    "launching/python_bound",
    "launching/launch_latency",
    # kernels
    "kernels/clock_drift",
    "kernels/recompute",
    "kernels/unfused_attention",
    "kernels/older_attention_kernel",
    "kernels/unfused_norm",
    "kernels/zero_grad_memset",
    "kernels/conv_bias",
    "kernels/tf32_off",
    "kernels/tensor_cores_unused",
    "kernels/gpu_throttled",
    "kernels/clocks_low",
    "kernels/matmul_shape",
    "kernels/small_matmuls",
    "kernels/memory_bound_matmul",
    "kernels/slow_matmul",
    "kernels/elementwise_chain",
    "kernels/slow_elementwise",
    "serving/decode_bandwidth",
    "serving/decode_weights",
    "communication/communication_contention",
    "kernels/kernel_variance",
    "kernels/odd_block_size",
    "kernels/few_waves",
    "kernels/low_occupancy",
    "kernels/exposed_memset",
    # the host of traces without GPU work
    "host/host_gpu_unused",
    "host/host_anomaly_mode",
    "host/host_garbage_collection",
    "host/host_lock",
    "host/host_recompilation",
    "host/host_compilation",
    "host/host_graph_break",
    "host/host_epoch_start",
    "host/host_logging",
    "host/host_fetch_work",
    "host/host_data_loading",
    "host/host_small_collectives",
    "host/host_communication",
    "host/host_os_calls",
    "host/host_threads",
    "host/host_item_loop",
    "host/host_attention",
    "host/host_optimizer",
    "host/host_float64",
    "host/host_elementwise_chain",
    "host/host_side_work",
    "host/host_many_operators",
    "host/host_operators",
    "host/host_python",
    "host/host_range",
    # what wins nothing by itself; what a run is spent on outside of its steps comes first
    "steps/start_up",
    "steps/idle_tail",
    "steps/sampled_capture",
    "steps/graph_recording",
    "steps/counter_capture",
    "steps/idle_earlier_work",
    "launching/idle_unattributed",
    "kernels/hotspot_kernel",
    "kernels/low_mfu",
    "steps/gpu_saturated",
    "steps/low_utilization",
    "steps/unused_phase",
    "steps/small_microbatch",
    "steps/tail_latency",
    "input/cold_files",
    "serving/prefill_stalls_decode",
    "serving/quantization",
    "communication/rank_imbalance",
    "communication/parallelism_choices",
    "memory/out_of_memory",
    "memory/memory_near_capacity",
    "memory/memory_fragmentation",
    "memory/memory_growth",
    "memory/memory_unused",
    "memory/cache_fragmentation",
    "memory/activation_peak",
    "memory/optimizer_memory",
    "memory/memory_by_kind",
    "memory/allocation_leak",
    "steps/warm_up_counted",
    "steps/steps_not_marked",
    "steps/few_steps",
    "steps/goal_advice",
)

RULES = tuple(place.partition("/")[2] for place in _PLACES)

# Asked where a log of torch.compile lies beside the trace: it says in so many words what they are about.
_OF_COMPILE_LOGS = frozenset(
    {"recompilation", "idle-compile", "graph-break", "host-recompilation", "host-compilation", "host-graph-break"}
)


class Rule(NamedTuple):
    """A rule: its id (kebab-case), its manual page, and its judgement.

    `remarks`: it never says what a fix could win. `is_extra`: it does, and no labelled real trace has shown yet that it is right.
    `is_for_compile_logs`: it is asked where a log of torch.compile says what it is about.
    `is_of_host`: it speaks of programs for which no GPU works, and is asked of no others. `is_yours`: a user added it.
    `of_allocations`: it is about those of a memory snapshot. `captures`: the kinds of captures that it speaks of, or reasons of
    the table triage.
    """

    name: str
    manual: Manual
    judge: Judgement
    remarks: bool = False
    is_extra: bool = False
    is_for_recordings: bool = False
    is_for_compile_logs: bool = False
    is_of_host: bool = False
    is_yours: bool = False
    of_allocations: bool = False
    captures: tuple[str, ...] = JUDGED

    @property
    def pack(self) -> str:
        """The packs of the rule, in words: default, yours, or one or more of host, recordings and extra."""
        if self.is_yours:
            return "yours"
        kinds = (("host", self.is_of_host), ("recordings", self.is_for_recordings), ("extra", self.is_extra))
        packs = [name for name, is_of_it in kinds if is_of_it]
        return ", ".join(packs) or "default"


@cache
def load_examples() -> dict[str, dict[str, str]]:
    """Return by rule the name of one real trace that triggered it ("trace") and what a report says of it ("said")."""
    text = package().joinpath("diagnosis/rules/examples.json").read_text("utf-8")
    found: dict[str, dict[str, str]] = json.loads(text)
    return found


@cache
def all_rules() -> tuple[Rule, ...]:
    """Return traceq's own rules, the pack extra included, in the order in which claims are served."""
    return tuple(_load(place) for place in _PLACES)


@cache
def default_rules() -> tuple[Rule, ...]:
    """Return traceq's own rules without those of the pack extra, in the order in which claims are served."""
    return tuple(rule for rule in all_rules() if not rule.is_extra)


def has_shares(name: str) -> bool:
    """Return whether the shares of the rule `name` come from its SQL header, so that fitted shares can replace them."""
    return name not in _python_rules() and _states_shares(rule_query(name))


def _states_shares(query: RuleQuery) -> bool:
    header = query.header
    return "likely" in header if "each" in header else not header.keys().isdisjoint(("low", "likely", "high"))


@cache
def _python_rules() -> frozenset[str]:
    """Return the names of the rules that are Python modules."""
    shelves = [shelf for shelf in package().joinpath("diagnosis/rules").iterdir() if shelf.is_dir()]
    return frozenset(file.name[:-3] for shelf in shelves for file in shelf.iterdir() if file.name.endswith(".py"))


def _load(place: str) -> Rule:
    name = place.partition("/")[2]
    query = rule_query(name) if name in shelved("diagnosis/rules") else RuleQuery("")
    if name not in _python_rules():
        judge = make_remarks(name, query) if "remark" in query.header else make_judgement(make_finder(name), query)
        said = describe_shares(name.replace("_", "-")) if _states_shares(query) else ""
        return _make_rule(name, manual_of_header(name, query, said), judge, query)
    module = import_module(f"traceq.diagnosis.rules.{place.replace('/', '.')}")
    return _make_rule(name, parse_manual(module.__doc__ or ""), module.judge, query)


def _make_rule(name: str, page: Manual, judge: Judgement, query: RuleQuery) -> Rule:
    rule = name.replace("_", "-")
    remarks = "remarks" in query.header
    is_extra = not remarks and not load_record().has_confirmed(rule)
    return Rule(
        rule,
        page,
        judge,
        remarks,
        is_extra=is_extra,
        is_for_recordings=is_extra and load_record().is_confirmed_by_pairs(rule),
        is_for_compile_logs=is_extra and rule in _OF_COMPILE_LOGS,
        is_of_host="host_alone" in query.listed("needs"),
        of_allocations="allocations" in query.listed("needs"),
        captures=query.listed("captures") or JUDGED,
    )
