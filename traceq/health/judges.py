"""Per metric what it needs, and from how much on what is missing matters: the judgement behind `traceq doctor SOURCE`."""

from __future__ import annotations

from collections.abc import Callable

from traceq.common.units import some
from traceq.health.coverage import Inputs
from traceq.health.verdict import Verdict, in_sql, judged, none

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

_NO_GPU = none("no GPU work was traced")


def _steps(i: Inputs) -> Verdict:
    if i.step_source is None:
        return none("there is no step", "marks")
    if i.step_source == "window":
        return none("no steps are marked or recur, so the window of GPU work counts as one", "marks")
    marked = _MARKED.get(i.step_source)
    counted = some(i.steps, "step")
    rates = f"rates of {i.payloads}" if i.payloads else "no samples or tokens marked"
    few = f"{counted} counted: nothing to compare with, capture more" if i.steps < _LEAST_STEPS else None
    inferred = None if marked else f"{counted}, inferred ({i.step_source}), not marked"
    return judged(f"{counted} by {marked}, {rates}", few, inferred, needs=None if marked else "marks")


def _ledger(i: Inputs) -> Verdict:
    if not i.gpu_slices:
        return _NO_GPU
    facts = f"{some(i.gpu_slices, 'GPU slice')} on {some(i.devices, 'GPU')}"
    return judged(facts, _whole_graphs(i, "counts as compute throughout"), needs="options")


def _whole_graphs(i: Inputs, meaning: str) -> str | None:
    return f"{some(i.whole_graphs, 'graph')} traced as a whole: each {meaning}" if i.whole_graphs else None


def _host(i: Inputs) -> Verdict:
    if not i.host_slices:
        return none("no host work was traced")
    facts = f"{some(i.operators, 'operator')}, {some(i.annotations, 'range')}, {some(i.calls, 'runtime call')}"
    nameless = None if i.operators + i.annotations else "no operator and no range around the calls"
    phaseless = None if i.phases else "nothing names forward, backward or optimizer"
    return judged(facts, nameless, phaseless, needs="marks")


def _idle(i: Inputs) -> Verdict:
    if not i.gpu_slices:
        return _NO_GPU
    share = i.idle_unattributed / i.idle_dur if i.idle_dur else 0.0
    nameless = None if i.operators + i.annotations else "no operator and no range names what the host did"
    return judged(
        f"{share:.1%} of idle time has no cause" if i.idle_dur else "never idle in a step",
        _not_launched(i),
        nameless,
        f"{share:.0%} of idle time has no cause" if share > _MOST_UNATTRIBUTED else None,
        _whole_graphs(i, "counts as busy throughout"),
        needs="options" if nameless or i.whole_graphs or not i.launched else None,
    )


def _launch(i: Inputs) -> Verdict:
    if not i.gpu_slices:
        return _NO_GPU
    if not i.launched:
        return none("no call that launched GPU work was traced")
    return judged(_launched(i), _not_launched(i))


def _launched(i: Inputs) -> str:
    return f"the launching call is known of {i.launched:,} of {some(i.called_for, 'GPU slice')}"


def _not_launched(i: Inputs) -> str | None:
    return _launched(i) if i.launched < _LEAST_LAUNCHED * i.called_for else None


def _sync(i: Inputs) -> Verdict:
    if not i.calls + i.synchronizations:
        return none("no runtime call was traced")
    waits = max(i.stream_wait_calls, i.stream_waits)
    facts = f"{some(i.waiting_calls, 'call')} in which the host waits, {waits:,} for which a stream does"
    if not waits or i.stream_waits_resolved >= waits:
        return Verdict("ok", facts)
    known = f"what a stream waited for is known of {i.stream_waits_resolved:,} of {some(waits, 'wait')}"
    return Verdict("degraded", known, None if i.stream_waits else "options")


def _copies(i: Inputs) -> Verdict:
    if not i.gpu_slices:
        return _NO_GPU
    facts = some(i.copies, "copy", "copies")
    return judged(
        f"{facts}, all with bytes, kinds of memory and the call" if i.copies else "no copy ran on a GPU",
        _known("bytes", i.copies_with_bytes, i.copies, facts),
        _known("pinned or pageable", i.copies_with_memory, i.copies, facts),
        _known("the call", i.copies_with_call, i.copies, facts),
        f"{some(i.copies_as_kernels, 'copy', 'copies')} run as kernels by the driver: they count as compute"
        if i.copies_as_kernels
        else None,
        _whole_graphs(i, "hides the copies within"),
        needs="options" if i.whole_graphs or (i.copies and not i.calls) else None,
    )


def _known(what: str, known: int, number: int, all_of_them: str) -> str | None:
    return f"{what} known of {known:,} of {all_of_them}" if known < number else None


def _occupancy(i: Inputs) -> Verdict:
    if not i.gpu_slices:
        return _NO_GPU
    if not i.kernels_with_shape:
        return none("no kernel says its grid, block and registers")
    rests_on = (
        f"grid, block and registers of {i.kernels_with_shape:,} of {some(i.kernels, 'kernel')},"
        f" limits of {i.devices_with_limits:,} of {some(i.devices, 'GPU')}"
    )
    if not i.kernels_estimated:
        return Verdict("not computable", f"estimated of no kernel: {rests_on}")
    estimated = f"estimated of {i.kernels_estimated:,} of {some(i.kernels, 'kernel')}"
    return judged(estimated, f"{estimated}: {rests_on}" if i.kernels_estimated < _LEAST_ESTIMATED * i.kernels else None)


def _hardware_counters(i: Inputs) -> Verdict:
    if not i.metric_samples + i.metrics:
        return none("no GPU metrics were sampled")
    if not i.metrics:
        samples = some(i.metric_samples, "sample")
        return Verdict(
            "degraded", f"in SQL only (counter): {samples}, none within a step of a metric that traceq knows"
        )
    facts = f"{some(i.metrics, 'metric')} of {some(i.devices_with_metrics, 'GPU')} per step"
    missing = _known("metrics", i.devices_with_metrics, i.devices, some(i.devices, "GPU"))
    return judged(facts, missing, needs="options")


def _communication(i: Inputs) -> Verdict:
    if not i.gpu_slices:
        return _NO_GPU
    hidden = _whole_graphs(i, "hides the communication within")
    if not i.communication:
        return judged("no communication ran on a GPU", hidden, needs="options")
    facts = some(i.communication, "GPU slice")
    undescribed = (
        _known("bytes", i.communication_with_bytes, i.communication, facts),
        _known("group", i.communication_with_group, i.communication, facts),
    )
    return judged(
        f"{facts}, all with bytes, group and what they hold up",
        *undescribed,
        _known("what they hold up", i.communication_with_blocking, i.communication, facts),
        hidden,
        needs="marks" if any(undescribed) else "options" if hidden else None,
    )


def _data(i: Inputs) -> Verdict:
    if not i.fetches:
        ahead = some(i.fetches_ahead, "fetch", "fetches")
        others = f"{ahead} on other threads, but nothing marks where training waits for input"
        return none(others if i.fetches_ahead else "nothing marks where a step fetches its input", "marks")
    fetches = some(i.fetches, "fetch", "fetches")
    steps = i.steps + i.steps_excluded
    return judged(
        f"{fetches} marked, waits known of {i.steps_with_data_wait:,} of {some(steps, 'step')}",
        None if i.gpu_slices else f"{fetches}, but no GPU work to say what they cost",
        _known("waits", i.steps_with_data_wait, steps, some(steps, "step")),
        _known("copies of input", i.steps_with_input_copy, steps, some(steps, "step")) if i.gpu_slices else None,
        needs="options",
    )


def _memory(i: Inputs) -> Verdict:
    if not i.memory_samples:
        return none("no allocation was traced")
    samples = some(i.memory_samples, "sample")
    gpus = some(i.devices_with_memory, "GPU")
    sampled = f" of {some(i.devices_sampled, 'GPU')}" if i.devices_sampled else ", none of a GPU"
    untotal = i.memory_samples - i.memory_samples_total
    return judged(
        f"{samples} of {gpus} with their capacity" if i.devices_with_memory else f"{samples}{sampled}",
        f"{samples}, none of a GPU's memory in a step" if i.gpu_slices and not i.devices_with_memory else None,
        f"{untotal:,} of {samples} are sums since the capture began, not totals" if untotal else None,
        _known("capacity", i.devices_with_capacity, i.devices_with_memory, gpus),
    )


def _flops(i: Inputs) -> Verdict:
    if not i.operators_with_shapes:
        return none("no operator says the shapes of its arguments")
    shapes = f"shapes of {i.operators_with_shapes:,} of {some(i.operators, 'operator')}"
    if not i.operators_with_flops:
        return Verdict("not computable", f"{shapes}, none a matrix product, convolution or attention of known FLOPs")
    facts = f"FLOPs of {some(i.operators_with_flops, 'operator')}"
    share = i.flops_dur / i.kernel_dur if i.kernel_dur else 0.0
    return judged(
        f"{facts}, in {share:.0%} of the time of kernels" if i.flops_dur else facts,
        None if i.flops_dur or not i.gpu_slices else f"{facts}, but no kernel of theirs: no rates",
        *_uncounted(i),
    )


def _uncounted(i: Inputs) -> tuple[str | None, ...]:
    """Work without known FLOPs: what graphs launch has no operator around it, unless a capture tells."""
    inside = i.graph_nodes - i.graph_nodes_with_operator + i.whole_graphs
    return (
        _known("FLOPs", i.convolutions_with_flops, i.convolutions, some(i.convolutions, "convolution")),
        f"{some(inside, 'GPU slice')} of graphs not counted" if inside else None,
    )


def _mfu(i: Inputs) -> Verdict:
    if not i.gpu_slices:
        return _NO_GPU
    if not i.operators_with_flops:
        return _flops(i)
    if not i.flops_dur:
        return Verdict(
            "not computable", "no operator with known FLOPs launched a kernel", None if i.launched else "options"
        )
    if not i.flops_dur_with_peak:
        return Verdict("not computable", "no peak known for the GPU and the types that operators with FLOPs compute in")
    share = i.flops_dur_with_peak / i.flops_dur
    known = f"MFU known of {i.mfu_entries_known:,} of {i.mfu_entries:,} GPUs x steps"
    peaks = f"peak known for {share:.0%} of the GPU time of operators with FLOPs"
    is_whole = i.mfu_entries_known == i.mfu_entries > 0
    return judged(f"{known}; {peaks}", None if is_whole else f"{known}; {peaks}", *_uncounted(i))


def _python(i: Inputs) -> Verdict:
    if not i.python_calls:
        return none("no Python call was traced")
    return in_sql(f"{some(i.python_calls, 'Python call')}")


def _graphs(i: Inputs) -> Verdict:
    if not i.gpu_slices:
        return _NO_GPU
    if not i.calls and not i.graph_nodes + i.whole_graphs:
        return none("no call was traced: whether graphs were launched is not known")
    if not i.graph_launches + i.graph_nodes + i.whole_graphs:
        return Verdict("ok", "no graph was launched")
    if not i.graph_nodes:
        return none(
            f"{some(i.graph_launches or i.whole_graphs, 'graph launch', 'graph launches')}, nothing from inside"
        )
    facts = f"{some(i.graph_nodes, 'GPU slice')} from inside graphs"
    if i.graph_nodes_with_operator:
        facts += f", {i.graph_nodes_with_operator:,} with operators from a capture"
    return judged(facts, _whole_graphs(i, "hides what ran within"), needs="options")


def _os(i: Inputs) -> Verdict:
    if not i.os_calls:
        return none("no call of the operating system was traced")
    return Verdict("ok", some(i.os_calls, "call"))


# One for each of traceq.formats.capabilities.METRICS, by its name.
JUDGES: dict[str, Callable[[Inputs], Verdict]] = {
    "steps": _steps,
    "idle": _idle,
    "ledger": _ledger,
    "host": _host,
    "launch": _launch,
    "sync": _sync,
    "copies": _copies,
    "occupancy": _occupancy,
    "hardware-counters": _hardware_counters,
    "communication": _communication,
    "data": _data,
    "memory": _memory,
    "flops": _flops,
    "mfu": _mfu,
    "python": _python,
    "graphs": _graphs,
    "os": _os,
}
