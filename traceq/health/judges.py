"""Judge per metric what it needs, and from how much on what is missing matters: for `traceq doctor SOURCE`."""

from __future__ import annotations

from collections.abc import Callable

from traceq.common.units import some
from traceq.health.coverage import Inputs
from traceq.health.verdict import MetricVerdict, not_computable, ok_or_degraded, sql_only

# Below this share of GPU slices with a launching call, and above this share of idle time without a cause, it is said.
_LEAST_LAUNCHED = 0.99
_MOST_UNATTRIBUTED = 0.1

# Below this share of kernels with an estimated occupancy, it is said.
_LEAST_ESTIMATED = 0.99

# Ways to find steps that somebody meant as steps; all others are inferred.
_MARKED = {
    "step_range": "--step-range",
    "mark": "traceq.annotate",
    "profiler_step": "prof.step()",
    "annotation": "annotations",
}
_LEAST_STEPS = 2

_NO_GPU = not_computable("no GPU work was traced")


def _judge_steps(i: Inputs) -> MetricVerdict:
    if i.step_source is None:
        return not_computable("there is no step", "marks")
    if i.step_source == "window":
        return not_computable("no steps are marked or recur, so the window of GPU work counts as one", "marks")
    marked = _MARKED.get(i.step_source)
    counted = some(i.steps, "step")
    rates = f"rates of {i.payloads}" if i.payloads else "no samples or tokens marked"
    few = f"{counted} counted: there is nothing to compare with; capture more" if i.steps < _LEAST_STEPS else None
    inferred = None if marked else f"{counted}, inferred ({i.step_source}), not marked"
    return ok_or_degraded(f"{counted} by {marked}, {rates}", few, inferred, needs=None if marked else "marks")


def _judge_ledger(i: Inputs) -> MetricVerdict:
    if not i.gpu_slices:
        return _NO_GPU
    facts = f"{some(i.gpu_slices, 'GPU slice')} on {some(i.devices, 'GPU')}"
    return ok_or_degraded(facts, _describe_whole_graphs(i, "counts as compute throughout"), needs="options")


def _describe_whole_graphs(i: Inputs, meaning: str) -> str | None:
    return f"{some(i.whole_graphs, 'graph')} traced as a whole: each {meaning}" if i.whole_graphs else None


def _judge_host(i: Inputs) -> MetricVerdict:
    if not i.host_slices:
        return not_computable("no host work was traced")
    facts = f"{some(i.operators, 'operator')}, {some(i.annotations, 'range')}, {some(i.calls, 'runtime call')}"
    nameless = None if i.operators + i.annotations else "no operator and no range around the calls"
    phaseless = None if i.phases else "nothing marks forward, backward or optimizer"
    return ok_or_degraded(facts, nameless, phaseless, needs="marks")


def _judge_idle(i: Inputs) -> MetricVerdict:
    if not i.gpu_slices:
        return _NO_GPU
    share = i.idle_unattributed / i.idle_dur if i.idle_dur else 0.0
    nameless = None if i.operators + i.annotations else "no operator or range shows what the host did"
    return ok_or_degraded(
        f"{share:.1%} of idle time has no cause" if i.idle_dur else "never idle in a step",
        _describe_unlaunched(i),
        nameless,
        f"{share:.0%} of idle time has no cause" if share > _MOST_UNATTRIBUTED else None,
        _describe_whole_graphs(i, "counts as busy throughout"),
        needs="options" if nameless or i.whole_graphs or not i.launched else None,
    )


def _judge_launch(i: Inputs) -> MetricVerdict:
    if not i.gpu_slices:
        return _NO_GPU
    if not i.launched:
        return not_computable("no launch call was traced")
    return ok_or_degraded(_describe_launched(i), _describe_unlaunched(i))


def _describe_launched(i: Inputs) -> str:
    return f"the launch call is known for {i.launched:,} of {some(i.called_for, 'GPU slice')}"


def _describe_unlaunched(i: Inputs) -> str | None:
    return _describe_launched(i) if i.launched < _LEAST_LAUNCHED * i.called_for else None


def _judge_sync(i: Inputs) -> MetricVerdict:
    if not i.calls + i.synchronizations:
        return not_computable("no runtime call was traced")
    waits = max(i.stream_wait_calls, i.stream_waits)
    facts = f"{some(i.waiting_calls, 'call')} in which the host waits, {waits:,} in which a stream does"
    if not waits or i.stream_waits_resolved >= waits:
        return MetricVerdict("ok", facts)
    known = f"what a stream waited for is known for {i.stream_waits_resolved:,} of {some(waits, 'wait')}"
    return MetricVerdict("degraded", known, None if i.stream_waits else "options")


def _judge_copies(i: Inputs) -> MetricVerdict:
    if not i.gpu_slices:
        return _NO_GPU
    facts = some(i.copies, "copy", "copies")
    return ok_or_degraded(
        f"{facts}, all with bytes, kinds of memory and the call" if i.copies else "no copy ran on a GPU",
        _describe_known("bytes", i.copies_with_bytes, i.copies, facts),
        _describe_known("pinned or pageable", i.copies_with_memory, i.copies, facts),
        _describe_known("the call", i.copies_with_call, i.copies, facts),
        f"{some(i.copies_as_kernels, 'copy', 'copies')} are run as kernels by the driver and count as compute"
        if i.copies_as_kernels
        else None,
        _describe_whole_graphs(i, "hides the copies within"),
        needs="options" if i.whole_graphs or (i.copies and not i.calls) else None,
    )


def _describe_known(what: str, known: int, number: int, all_of_them: str) -> str | None:
    """Return a phrase on how many of `number` things have the fact `what`; None if all have it."""
    return f"{what} known for {known:,} of {all_of_them}" if known < number else None


def _judge_occupancy(i: Inputs) -> MetricVerdict:
    if not i.gpu_slices:
        return _NO_GPU
    if not i.kernels_with_shape:
        return not_computable("no kernel has its grid, block and registers")
    rests_on = (
        f"grid, block and registers of {i.kernels_with_shape:,} of {some(i.kernels, 'kernel')},"
        f" limits of {i.devices_with_limits:,} of {some(i.devices, 'GPU')}"
    )
    if not i.kernels_estimated:
        return MetricVerdict("not computable", f"estimated of no kernel: {rests_on}")
    estimated = f"estimated of {i.kernels_estimated:,} of {some(i.kernels, 'kernel')}"
    return ok_or_degraded(
        estimated, f"{estimated}: {rests_on}" if i.kernels_estimated < _LEAST_ESTIMATED * i.kernels else None
    )


def _judge_hardware_counters(i: Inputs) -> MetricVerdict:
    if not i.metric_samples + i.metrics:
        return not_computable("no GPU metrics were sampled")
    if not i.metrics:
        samples = some(i.metric_samples, "sample")
        return MetricVerdict(
            "degraded", f"in SQL only (counter): {samples}, none within a step of a metric that traceq knows"
        )
    facts = f"{some(i.metrics, 'metric')} of {some(i.devices_with_metrics, 'GPU')} per step"
    missing = _describe_known("metrics", i.devices_with_metrics, i.devices, some(i.devices, "GPU"))
    return ok_or_degraded(facts, missing, needs="options")


def _judge_communication(i: Inputs) -> MetricVerdict:
    if not i.gpu_slices:
        return _NO_GPU
    hidden = _describe_whole_graphs(i, "hides the communication within")
    if not i.communication:
        return ok_or_degraded("no communication ran on a GPU", hidden, needs="options")
    facts = some(i.communication, "GPU slice")
    undescribed = (
        _describe_known("bytes", i.communication_with_bytes, i.communication, facts),
        _describe_known("group", i.communication_with_group, i.communication, facts),
    )
    return ok_or_degraded(
        f"{facts}, all with bytes, group and what they hold up",
        *undescribed,
        _describe_known("what they hold up", i.communication_with_blocking, i.communication, facts),
        hidden,
        needs="marks" if any(undescribed) else "options" if hidden else None,
    )


def _judge_data(i: Inputs) -> MetricVerdict:
    if not i.fetches:
        ahead = some(i.fetches_ahead, "fetch", "fetches")
        others = f"{ahead} on other threads, but nothing marks where training waits for input"
        return not_computable(others if i.fetches_ahead else "nothing marks where a step fetches its input", "marks")
    fetches = some(i.fetches, "fetch", "fetches")
    steps = i.steps + i.steps_excluded
    return ok_or_degraded(
        f"{fetches} marked, waits known for {i.steps_with_data_wait:,} of {some(steps, 'step')}",
        None if i.gpu_slices else f"{fetches}, but no GPU work to say what they cost",
        _describe_known("waits", i.steps_with_data_wait, steps, some(steps, "step")),
        _describe_known("copies of input", i.steps_with_input_copy, steps, some(steps, "step"))
        if i.gpu_slices
        else None,
        needs="options",
    )


def _judge_memory(i: Inputs) -> MetricVerdict:
    if not i.memory_samples:
        return not_computable("no allocation was traced")
    samples = some(i.memory_samples, "sample")
    gpus = some(i.devices_with_memory, "GPU")
    sampled = f" of {some(i.devices_sampled, 'GPU')}" if i.devices_sampled else ", none of a GPU"
    untotal = i.memory_samples - i.memory_samples_total
    return ok_or_degraded(
        f"{samples} of {gpus} with their capacity" if i.devices_with_memory else f"{samples}{sampled}",
        f"{samples}, none of a GPU's memory in a step" if i.gpu_slices and not i.devices_with_memory else None,
        f"{untotal:,} of {samples} are sums since the capture began, not totals" if untotal else None,
        _describe_known("capacity", i.devices_with_capacity, i.devices_with_memory, gpus),
    )


def _judge_flops(i: Inputs) -> MetricVerdict:
    if not i.operators_with_shapes:
        return not_computable("no operator has the shapes of its arguments")
    shapes = f"shapes of {i.operators_with_shapes:,} of {some(i.operators, 'operator')}"
    if not i.operators_with_flops:
        return MetricVerdict(
            "not computable", f"{shapes}, none a matrix product, convolution or attention of known FLOPs"
        )
    facts = f"FLOPs of {some(i.operators_with_flops, 'operator')}"
    share = i.flops_dur / i.kernel_dur if i.kernel_dur else 0.0
    return ok_or_degraded(
        f"{facts}, in {share:.0%} of the time of kernels" if i.flops_dur else facts,
        None if i.flops_dur or not i.gpu_slices else f"{facts}, but no kernel of theirs: no rates",
        *_describe_uncounted(i),
    )


def _describe_uncounted(i: Inputs) -> tuple[str | None, ...]:
    """Return two phrases on work whose FLOPs are unknown, convolutions and kernels in graphs; None for a kind without any.

    Kernels of CUDA graphs have no operator, and so no FLOPs, unless a CUDA-graph capture was given.
    """
    inside = i.graph_nodes - i.graph_nodes_with_operator + i.whole_graphs
    return (
        _describe_known("FLOPs", i.convolutions_with_flops, i.convolutions, some(i.convolutions, "convolution")),
        f"{some(inside, 'GPU slice')} of graphs not counted" if inside else None,
    )


def _judge_mfu(i: Inputs) -> MetricVerdict:
    if not i.gpu_slices:
        return _NO_GPU
    if not i.operators_with_flops:
        return _judge_flops(i)
    if not i.flops_dur:
        return MetricVerdict(
            "not computable", "no operator with known FLOPs launched a kernel", None if i.launched else "options"
        )
    if not i.flops_dur_with_peak:
        return MetricVerdict(
            "not computable", "no peak known for the GPU and the types that operators with FLOPs compute in"
        )
    share = i.flops_dur_with_peak / i.flops_dur
    known = f"MFU known for {i.mfu_entries_known:,} of {i.mfu_entries:,} GPUs x steps"
    peaks = f"peak known for {share:.0%} of the GPU time of operators with FLOPs"
    is_whole = i.mfu_entries_known == i.mfu_entries > 0
    return ok_or_degraded(f"{known}; {peaks}", None if is_whole else f"{known}; {peaks}", *_describe_uncounted(i))


def _judge_python(i: Inputs) -> MetricVerdict:
    if not i.python_calls:
        return not_computable("no Python call was traced")
    return sql_only(f"{some(i.python_calls, 'Python call')}")


def _judge_graphs(i: Inputs) -> MetricVerdict:
    if not i.gpu_slices:
        return _NO_GPU
    if not i.calls and not i.graph_nodes + i.whole_graphs:
        return not_computable("no call was traced, so it is not known whether graphs were launched")
    if not i.graph_launches + i.graph_nodes + i.whole_graphs:
        return MetricVerdict("ok", "no graph was launched")
    if not i.graph_nodes:
        return not_computable(
            f"{some(i.graph_launches or i.whole_graphs, 'graph launch', 'graph launches')}, nothing from inside"
        )
    facts = f"{some(i.graph_nodes, 'GPU slice')} from inside graphs"
    if i.graph_nodes_with_operator:
        facts += f", {i.graph_nodes_with_operator:,} with operators from a capture"
    return ok_or_degraded(facts, _describe_whole_graphs(i, "hides what ran within"), needs="options")


def _judge_os(i: Inputs) -> MetricVerdict:
    if not i.os_calls:
        return not_computable("no system call was traced")
    return MetricVerdict("ok", some(i.os_calls, "call"))


# One for each of traceq.formats.capabilities.METRICS, by its name.
JUDGES: dict[str, Callable[[Inputs], MetricVerdict]] = {
    "steps": _judge_steps,
    "idle": _judge_idle,
    "ledger": _judge_ledger,
    "host": _judge_host,
    "launch": _judge_launch,
    "sync": _judge_sync,
    "copies": _judge_copies,
    "occupancy": _judge_occupancy,
    "hardware-counters": _judge_hardware_counters,
    "communication": _judge_communication,
    "data": _judge_data,
    "memory": _judge_memory,
    "flops": _judge_flops,
    "mfu": _judge_mfu,
    "python": _judge_python,
    "graphs": _judge_graphs,
    "os": _judge_os,
}
