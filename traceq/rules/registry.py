"""All rules, in the order in which their claims are served: what names a cause before what only measures its effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from traceq.claims.manual import Manual, manual

if TYPE_CHECKING:
    from traceq.claims.advice import Advice, Remark
    from traceq.claims.subject import Subject

    Judgement = Callable[["Subject"], Iterator["Advice | Remark"]]

# Each is a module beside this one, and a function of the same name in it.
RULES: tuple[str, ...] = (
    # the profiler, and settings that make everything slow
    "profiler_overhead",
    "launch_blocking",
    # what the program does now and then
    "checkpoint_blocking",
    "logging_in_step",
    "garbage_collection",
    # compiling and loading code
    "recompilation",
    "kernel_autotuning",
    "lazy_module_loading",
    "idle_compile",
    # input
    "epoch_boundary",
    "synchronous_loader",
    "slow_storage",
    "main_thread_collate",
    "worker_imbalance",
    "prefetch_depth",
    "too_few_workers",
    "late_input_copy",
    "idle_data",
    # copies
    "unified_memory",
    "host_device_ping_pong",
    "pageable_copy",
    "blocking_copy",
    "fresh_tensor_copy",
    "many_small_copies",
    "offload_copy",
    "same_stream_copy",
    "layout_copy",
    "redundant_copy",
    "peer_copy",
    "low_copy_bandwidth",
    "exposed_copy_h2d",
    "exposed_copy_d2h",
    "exposed_copy_other",
    # waiting for the GPU, and for memory
    "item_read",
    "data_dependent_shape",
    "device_synchronize",
    "idle_sync",
    "allocator_in_step",
    "pinning_in_step",
    "idle_allocation",
    # communication
    "data_parallel",
    "gloo_on_gpu",
    "host_collective",
    "sync_batch_norm",
    "late_rank",
    "small_messages",
    "same_stream_collective",
    "slow_collective",
    "low_bus_bandwidth",
    "pipeline_bubble",
    "moe_all_to_all",
    "parameter_gather",
    "gradient_overlap",
    "tensor_parallel_collective",
    "exposed_communication",
    "stream_dependency",
    # launching
    "loop_indexing",
    "unfused_optimizer",
    "slow_launch_call",
    "blocking_os_call",
    "tiny_kernels",
    "host_bound",
    "python_bound",
    "launch_latency",
    "idle_unattributed",
    # kernels
    "recompute",
    "unfused_attention",
    "unfused_norm",
    "zero_grad_memset",
    "conv_bias",
    "tf32_off",
    "tensor_cores_unused",
    "matmul_shape",
    "small_matmuls",
    "memory_bound_matmul",
    "slow_matmul",
    "elementwise_chain",
    "slow_elementwise",
    "communication_contention",
    "clock_drift",
    "kernel_variance",
    "odd_block_size",
    "few_waves",
    "low_occupancy",
    "exposed_memset",
    # what wins nothing by itself
    "hotspot_kernel",
    "low_mfu",
    "gpu_saturated",
    "low_utilization",
    "unused_phase",
    "small_microbatch",
    "tail_latency",
    "rank_imbalance",
    "memory_near_capacity",
    "memory_fragmentation",
    "memory_growth",
    "memory_unused",
    "warm_up_counted",
    "steps_not_marked",
    "few_steps",
    "goal_advice",
)


class Rule(NamedTuple):
    """A rule: its id (kebab-case), its manual page, and its judgement."""

    name: str
    manual: Manual
    judge: Judgement


@cache
def built_in() -> tuple[Rule, ...]:
    """The rules of traceq itself."""
    return tuple(_load(name) for name in RULES)


def _load(name: str) -> Rule:
    module = import_module(f"traceq.rules.{name}")
    return Rule(name.replace("_", "-"), manual(module.__doc__ or ""), getattr(module, name))
