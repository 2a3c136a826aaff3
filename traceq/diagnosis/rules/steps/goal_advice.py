"""Tuning for throughput, or for latency.

What it finds
    The settings of a training program (batch size, accumulation, precision, fusion, checkpointing, sharding,
    parallelism) that the trace suggests to change, or not to change, for the goal (--goal throughput or latency).

Why it matters
    The same setting is right for one goal and wrong for the other: a larger batch raises samples per second and never
    makes a step faster; splitting layers over GPUs shortens a step and lowers samples per second and GPU. And most
    settings do nothing if the time is spent elsewhere.

How it is measured
    Shares of the counted steps on the critical device: compute, exposed communication by purpose (operation,
    pass and group: collective_slice, launch_state), idle pieces of idle_launch and idle_python below 1 ms
    (launching), waits for input, host and memory (time_ledger), kernels that could be fused and how well they fill the
    GPU (kernel_occupancy), types of the arithmetic (operator_cost), peak memory over capacity (memory_step). A knob
    is named if it affects at least 10 % of the step (less is not worth changing the program for), for arithmetic and
    fusion 20 and 30 % (only a part of that is saved); at least two settings or one that affects 30 % of the step, at
    most five, and at least one of them a trade-off between the goals; otherwise none. A batch can grow by the time
    that the GPU waits for launches over the time it computes before the step becomes longer. Kernels fill the GPU if
    80 % of the multiprocessors get a block, by time, and leave it empty below 50 %; memory is free below 60 % and
    full from 85 %. Waits of at least 30 % of the step come first, because no setting changes them.

What to try
    Change one setting at a time, and capture after each: settings affect one another.

References
    https://docs.nvidia.com/deeplearning/performance/dl-performance-gpu-background/index.html
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html
    https://docs.pytorch.org/docs/stable/checkpoint.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from traceq.common import units
from traceq.diagnosis.advice import Remark
from traceq.diagnosis.needs import CannotTell, NothingThere
from traceq.diagnosis.rules.shared.remedies import remedy_for
from traceq.diagnosis.subject import Subject

MOST_KNOBS = 5
"""More are no advice."""


class Words(NamedTuple):
    """The words about a knob: what the trace says of it, and how to turn it."""

    text: str
    code: str


class GoalKnob(NamedTuple):
    """A knob: what the trace says of it, how to turn it (empty: leave it), and its share of the step.

    `is_trade`: what is right for the other goal differs. `grows_batch`: of an optimizer step.
    """

    text: str
    code: str
    share: float
    is_trade: bool = True
    grows_batch: bool = False


Facts = Mapping[str, Any]
Turn = Callable[[Facts, bool], GoalKnob | None]


def judge(subject: Subject) -> Iterator[Remark]:
    """Yield a remark on the knobs that the trace speaks for."""
    subject.only_for("pytorch")
    subject.needs("gpu", "steps")
    if subject.is_window:
        raise CannotTell("there are no steps; mark them with traceq.annotate")
    if subject.ask("serving_told"):
        raise NothingThere("the steps are those of a server, which has other settings")
    (shares,) = subject.ask("goal_advice")
    measured = {**shares, **subject.thresholds("goal_advice")}
    facts = {
        **_add_tensor_parallel(subject, measured),
        "program": subject.program,
        # of a job whose gradients are known byte for byte nothing else is split
        "replicates": measured["other_communication_share"] >= measured["worth"]
        and subject.ask("parallelism_facts")[0]["op"] == "all_reduce",
    }
    is_latency = subject.goal == "latency"
    knobs = [knob for turn in _KNOBS if (knob := turn(facts, is_latency)) is not None][:MOST_KNOBS]
    turned = [knob for knob in knobs if knob.code and knob.is_trade]
    if not turned or (len(knobs) < facts["least_knobs"] and turned[0].share < facts["enough_alone"]):
        raise NothingThere(f"the trace suggests nothing specific to {subject.goal}; see the findings")
    fixes = [f"({number}) {knob.code}" for number, knob in enumerate(knobs, 1) if knob.code]
    if "training" in subject.program.workloads and any(knob.grows_batch for knob in knobs):
        fixes.append(remedy_for(subject.program, "rescale_learning"))
    numbered = " ".join(f"({number}) {knob.text}" for number, knob in enumerate(knobs, 1))
    yield Remark(
        text=f"For {subject.goal}, with a step of {units.duration(facts['step_ns'])}: {numbered}",
        query="goal_advice",
        fix=" ".join(fixes),
        title=f"Tuning for {subject.goal}",
        key=subject.goal,
    )


def _add_tensor_parallel(subject: Subject, facts: Facts) -> Facts:
    """Take communication that no phase explains for tensor parallelism where the rule tensor-parallel-collective does."""
    if facts["tensor_share"] >= facts["worth"] or facts["other_communication_share"] < facts["worth"]:
        return facts
    claim = subject.claim("collective_role", role="tensor", kind="any")
    share = min(claim.claimed_ns / subject.step_ns, facts["other_communication_share"]) if claim else 0.0
    if share < facts["worth"]:
        return facts
    return {
        **facts,
        "tensor_share": share,
        "tensor_group": facts["other_group"],
        "other_communication_share": facts["other_communication_share"] - share,
    }


def _make_turn(
    column: str,
    words: Callable[[Facts, bool], Words | None],
    least: str = "worth",
    *,
    is_trade: bool = True,
    grows: bool = False,
) -> Turn:
    """Return what makes a knob of the share `column`, from the threshold `least` on.

    `words` are its text and code, or None where it does not apply.

    `grows`: for throughput it makes the batch of an optimizer step larger.
    """

    def turn(facts: Facts, is_latency: bool) -> GoalKnob | None:
        said = words(facts, is_latency) if facts[column] >= facts[least] else None
        return None if said is None else GoalKnob(*said, facts[column], is_trade, grows and not is_latency)

    return turn


def _describe_memory(facts: Facts) -> str:
    share = facts["memory_share"]
    if share is None:
        return "memory use is not in the trace"
    return f"peak memory is {units.share(share)} of {units.bytes_in('GiB', facts['capacity_bytes'], 0)} GiB"


def _is_free(facts: Facts) -> bool:
    return facts["memory_share"] is not None and facts["memory_share"] < facts["memory_free"]


def _is_taken(facts: Facts) -> bool:
    return facts["memory_share"] is not None and facts["memory_share"] >= facts["memory_taken"]


def _judge_waits(facts: Facts, is_latency: bool) -> Words | None:
    knobs = "precision and parallelism" if is_latency else "batch size, precision and parallelism"
    return Words(
        f"Waits come first: they are {units.share(facts['waits_share'])} of the step, mostly {facts['longest_wait']}; "
        f"{knobs} do not change that.",
        f"Fix the findings on {facts['longest_wait']} first.",
    )


def _judge_batch(facts: Facts, is_latency: bool) -> GoalKnob | None:
    coverage, launching = facts["coverage_share"], facts["launch_bound_share"]
    is_sparse = coverage is not None and coverage < facts["sparse"]
    is_filled = coverage is not None and coverage >= facts["filled"]
    if is_latency:
        return _judge_smaller_batch(facts, is_filled=is_filled, is_sparse=is_sparse)
    if facts["compute_share"] >= facts["saturated"] and is_filled:
        return GoalKnob(
            f"Batch size: leave it as it is; compute is {units.share(facts['compute_share'])} of the step and fills "
            f"{units.share(coverage)} of the multiprocessors, so a larger batch takes proportionally longer.",
            "",
            facts["compute_share"],
        )
    if facts["waits_share"] >= facts["waits_first"] or not (is_sparse or launching >= facts["worth"]):
        return None
    why = (
        f"kernels use only {units.share(coverage)} of the multiprocessors"
        if is_sparse
        else f"the GPU waits for launches for {units.share(launching)} of the step, which a batch about "
        f"{1 + launching / max(facts['compute_share'], launching / facts['most_times']):.2g} times as large would fill"
    )
    if _is_taken(facts):
        if not facts["program"].trains:
            return None
        return GoalKnob(
            f"Batch size up, in exchange for recomputation: {why}, and {_describe_memory(facts)}.",
            "torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False) around the largest blocks, then a "
            "larger batch_size.",
            launching,
            grows_batch=True,
        )
    return GoalKnob(
        f"Batch size up: {why}; {_describe_memory(facts)}.",
        "DataLoader(..., batch_size=2 * batch_size), repeatedly, until a step takes twice as long as before.",
        launching,
        grows_batch=True,
    )


def _judge_smaller_batch(facts: Facts, *, is_filled: bool, is_sparse: bool) -> GoalKnob | None:
    # where launching is the limit already, a smaller batch is no faster
    if facts["compute_share"] < facts["sparse"] or facts["launch_bound_share"] >= facts["worth"]:
        return None
    if is_filled:
        return GoalKnob(
            f"Batch size down: compute is {units.share(facts['compute_share'])} of the step "
            f"({units.duration(facts['compute_ns'])}) and its "
            f"kernels fill {units.share(facts['coverage_share'])} of the multiprocessors, so the step shrinks "
            "with the batch.",
            "DataLoader(..., batch_size=batch_size // 2), as far as convergence allows.",
            facts["compute_share"],
        )
    if is_sparse:
        return GoalKnob(
            f"Batch size: leave it as it is; kernels already leave {units.share(1 - facts['coverage_share'])} "
            "of the multiprocessors empty, so a smaller batch is not faster.",
            "",
            facts["compute_share"],
        )
    return None


def _judge_launches(facts: Facts, is_latency: bool) -> GoalKnob | None:
    if facts["launch_bound_share"] < facts["worth"]:
        return None
    effect = (
        "a smaller batch does not shorten that" if is_latency else "every step pays that once, whatever the batch size"
    )
    return GoalKnob(
        f"Fewer launches: the GPU waits for them for {units.share(facts['launch_bound_share'])} of the step; {effect}.",
        remedy_for(facts["program"], "launch_less"),
        facts["launch_bound_share"],
        is_trade=is_latency,
    )


def _judge_precision(facts: Facts, _is_latency: bool) -> GoalKnob | None:
    if facts["fp32_share"] >= facts["much_arithmetic"]:
        return GoalKnob(
            "Precision down: matrix multiplications and convolutions on fp32 data take "
            f"{units.share(facts['fp32_share'])} of the step.",
            remedy_for(facts["program"], "half_products") + " Or TF32: torch.set_float32_matmul_precision('high').",
            facts["fp32_share"],
            is_trade=False,
        )
    if facts["tf32_share"] >= facts["much_arithmetic"]:
        return GoalKnob(
            f"Precision down: TF32 arithmetic takes {units.share(facts['tf32_share'])} of the step; bfloat16 "
            "has twice the peak and half the bytes.",
            remedy_for(facts["program"], "half_products"),
            facts["tf32_share"],
            is_trade=False,
        )
    # of a trained model the rule quantization says what 8 bits win
    if facts["has_fp8"] and facts["half_precision_share"] >= facts["much_half"] and facts["program"].trains:
        return GoalKnob(
            f"Precision down: 16-bit arithmetic at the compute limit takes {units.share(facts['half_precision_share'])} of "
            "the step, and this GPU has twice the peak in FP8; accuracy has to be checked.",
            "transformer_engine.pytorch.Linear within fp8_autocast(enabled=True) for the large layers.",
            facts["half_precision_share"],
            is_trade=False,
        )
    return None


def _judge_fusion(facts: Facts, _is_latency: bool) -> Words | None:
    optimizer = ", optimizer" if facts["program"].trains else ""
    return Words(
        f"Fusion: elementwise, normalization, reduction, softmax{optimizer} and copy kernels take "
        f"{units.share(facts['fusible_share'])} of the step.",
        remedy_for(facts["program"], "fuse")
        + ("" if facts["program"].has("flash_attention") else f" {remedy_for(facts['program'], 'fused_attention')}"),
    )


def _judge_checkpointing(facts: Facts, _is_latency: bool) -> GoalKnob | None:
    if not facts["program"].trains or not facts["recomputes"] or not _is_free(facts):
        return None
    return GoalKnob(
        f"Activation checkpointing off, or around fewer blocks: activations are recomputed although "
        f"{_describe_memory(facts)}.",
        "Remove torch.utils.checkpoint.checkpoint(...) from one block after the other.",
        facts["worth"],
    )


def _judge_gradients(facts: Facts, is_latency: bool) -> Words | None:
    if not facts["program"].trains:
        return None
    share = facts["gradient_share"]
    if is_latency:
        return Words(
            f"Data parallelism: exchanging gradients is exposed for {units.share(share)} of the step (waits for late "
            "ranks included); accumulation would not shorten a step.",
            remedy_for(facts["program"], "gradients_fewer_bytes"),
        )
    return Words(
        f"Accumulation, or a larger batch per GPU: exchanging gradients is exposed for {units.share(share)} of the step "
        f"(waits for late ranks included), once per optimizer step, whatever the batch size; "
        f"{_describe_memory(facts)}.",
        remedy_for(facts["program"], "gradients_less_often"),
    )


def _judge_sharding(facts: Facts, _is_latency: bool) -> Words | None:
    if not facts["program"].trains:
        return None
    share = facts["sharded_share"]
    if _is_taken(facts):
        return Words(
            f"Sharding within a machine only: gathering parameters is exposed for {units.share(share)} of the step (waits "
            f"for late ranks included), and {_describe_memory(facts)}, so the model has to stay sharded.",
            "fully_shard(model, mesh=init_device_mesh('cuda', (machines, gpus), mesh_dim_names=('replicate', 'shard')))."
            if facts["program"].can_compile
            else "FSDP(model, sharding_strategy=ShardingStrategy.HYBRID_SHARD).",
        )
    return Words(
        f"ZeRO stage down: gathering parameters is exposed for {units.share(share)} of the step (waits for late ranks "
        f"included); {_describe_memory(facts)}.",
        ("fully_shard(block, reshard_after_forward=False)" if facts["program"].can_compile else "FSDP(...)")
        + " keeps parameters for the backward pass (ZeRO 2, SHARD_GRAD_OP).",
    )


def _judge_tensor_parallel(facts: Facts, is_latency: bool) -> Words | None:
    share = facts["tensor_share"]
    size = f" in groups of {facts['tensor_group']}" if facts["tensor_group"] else ""
    start = (
        f"reductions within layers{size}, as in tensor parallelism, are exposed for {units.share(share)} of the "
        "step (waits for late ranks included)"
    )
    if is_latency:
        return Words(
            f"Tensor parallelism: keep it within {facts['program'].words['link']} and overlap it; {start}, against "
            f"{units.share(facts['compute_share'])} compute.",
            remedy_for(facts["program"], "tensor_parallel"),
        )
    return Words(
        f"Tensor parallelism down, data parallelism up: {start}; {_describe_memory(facts)}.",
        "Halve tensor_model_parallel_size (the mesh's 'tp' dimension): half as many ranks share each layer, and "
        "twice as many batches run.",
    )


def _judge_other_communication(facts: Facts, is_latency: bool) -> Words | None:
    share = facts["other_communication_share"]
    if facts["tensor_share"] >= facts["worth"] or facts["replicates"]:
        return None
    size = f" in groups of {facts['other_group']}" if facts["other_group"] else ""
    start = (
        f"{facts['other_collectives_per_step']:,.0f} collectives a step{size} are exposed for {units.share(share)} of "
        "it (waits for late ranks included), against "
        f"{units.share(facts['compute_share'])} compute; the trace does not show what they are for"
    )
    if is_latency:
        return Words(
            f"Parallelism: {start}. Several per layer mean tensor parallelism.",
            f"Keep the group within {facts['program'].words['link']}, and overlap its collectives; if it still "
            "costs more than it saves, halve it.",
        )
    return Words(
        f"Parallelism: {start}. Several per layer mean tensor parallelism: use smaller groups."
        + (" A few are gradients: use accumulation." if facts["program"].trains else ""),
        "Halve tensor_model_parallel_size and double data parallelism if the model still fits"
        + (", or with model.no_sync(): for all micro-batches but the last." if facts["program"].trains else "."),
    )


def _judge_pipeline(facts: Facts, is_latency: bool) -> Words | None:
    share = facts["pipeline_share"]
    start = f"sends and receives are exposed for {units.share(share)} of the step (waiting for other stages included)"
    if is_latency:
        return Words(
            f"Pipeline parallelism down: {start}.",
            "Use fewer stages, and tensor parallelism within a machine instead.",
        )
    return Words(
        f"More micro-batches per step: {start}; the bubble is (stages - 1) / (micro-batches + stages - 1).",
        "Double the number of micro-batches at the same size (ScheduleInterleaved1F1B(..., n_microbatches=2 * n)).",
    )


def _judge_all_to_all(facts: Facts, _is_latency: bool) -> Words | None:
    share = facts["all_to_all_share"]
    return Words(
        f"All-to-all is exposed for {units.share(share)} of the step (waits for late ranks included); its bytes grow "
        "with the batch, so no batch size hides it.",
        "Keep its groups (experts, embedding shards, sequence parts) within a machine, or overlap it with "
        "compute: dist.all_to_all_single(..., async_op=True) before work that does not need it.",
    )


def _judge_split(facts: Facts, is_latency: bool) -> GoalKnob | None:
    if not is_latency or facts["compute_share"] < facts["compute_bound"] or facts["tensor_share"] >= facts["worth"]:
        return None
    return GoalKnob(
        f"Tensor parallelism up: compute is {units.share(facts['compute_share'])} of the step and communication "
        f"{units.share(facts['communication_share'])}, so splitting layers over GPUs shortens it, at the cost "
        "of fewer samples per second and GPU.",
        "parallelize_module(model, init_device_mesh('cuda', (2,)), {...: ColwiseParallel(), ...: RowwiseParallel()}).",
        facts["compute_share"],
    )


# In the order in which they are named.
_KNOBS: tuple[Turn, ...] = (
    _make_turn("waits_share", _judge_waits, "waits_first", is_trade=False),
    _judge_batch,
    _judge_launches,
    _make_turn("tensor_share", _judge_tensor_parallel),
    _make_turn("other_communication_share", _judge_other_communication),
    _make_turn("sharded_share", _judge_sharding),
    _make_turn("gradient_share", _judge_gradients, grows=True),
    _make_turn("pipeline_share", _judge_pipeline),
    _make_turn("all_to_all_share", _judge_all_to_all, is_trade=False),
    _judge_precision,
    _make_turn("fusible_share", _judge_fusion, "much_fusible", is_trade=False),
    _judge_checkpointing,
    _judge_split,
)
