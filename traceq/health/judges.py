"""Per metric what it needs, and from how much on what is missing matters: the judgement behind `traceq doctor SOURCE`."""

from __future__ import annotations

from collections.abc import Callable

from traceq.health.inputs import Inputs
from traceq.health.verdict import Verdict, in_sql, judged, none, some

# Below this share of GPU slices with a launching call, and above this share of idle time without a cause, it is said.
_LEAST_LAUNCHED = 0.99
_MOST_UNATTRIBUTED = 0.1

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
    if i.step_source == "whole_trace":
        return none("nothing marks steps, so the whole trace counts as one", "marks")
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
    return f"{some(i.whole_graphs, 'CUDA graph')} traced as a whole: each {meaning}" if i.whole_graphs else None


def _host(i: Inputs) -> Verdict:
    if not i.host_slices:
        return none("no host work was traced")
    facts = f"{some(i.operators, 'operator')}, {some(i.annotations, 'range')}, {some(i.calls, 'CUDA call')}"
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
        return none("no CUDA call was traced")
    waits = max(i.stream_wait_calls, i.stream_waits)
    facts = f"{some(i.waiting_calls, 'call')} in which the host waits, {waits:,} for which a stream does"
    if not waits or i.stream_waits_resolved >= waits:
        return Verdict("ok", facts)
    known = f"what a stream waited for is known of {i.stream_waits_resolved:,} of {some(waits, 'wait')}"
    return Verdict("degraded", known, None if i.stream_waits else "options")


def _copies(i: Inputs) -> Verdict:
    if not i.gpu_slices:
        return _NO_GPU
    if not i.copies:
        return Verdict("ok", "no copy ran on a GPU")
    facts = some(i.copies, "copy", "copies")
    return judged(
        f"{facts}, all with bytes and kinds of memory",
        _known("bytes", i.copies_with_bytes, facts, i.copies),
        _known("pinned or pageable", i.copies_with_memory, facts, i.copies),
    )


def _known(what: str, known: int, all_of_them: str, number: int) -> str | None:
    return f"{what} known of {known:,} of {all_of_them}" if known < number else None


def _occupancy(i: Inputs) -> Verdict:
    if not i.gpu_slices:
        return _NO_GPU
    if not i.kernels_with_shape:
        return none("no kernel says its grid, block and registers")
    return in_sql(
        f"grid, block and registers of {i.kernels_with_shape:,} of {some(i.kernels, 'kernel')},"
        f" limits of {i.devices_described:,} of {some(i.devices, 'GPU')}"
    )


def _hardware_counters(i: Inputs) -> Verdict:
    if not i.metric_samples:
        return none("no GPU metrics were sampled")
    return in_sql(f"{some(i.metric_samples, 'sample')}")


def _communication(i: Inputs) -> Verdict:
    if not i.gpu_slices:
        return _NO_GPU
    if not i.communication + i.collectives:
        return Verdict("ok", "no communication ran on a GPU")
    facts = f"{some(i.communication, 'GPU slice')}, exposed part in the ledger"
    if not i.collectives:
        return Verdict("degraded", f"{facts}, but no message sizes and groups", "marks")
    return in_sql(
        f"sizes of {i.collectives_with_bytes:,} and groups of {i.collectives_with_group:,} of"
        f" {some(i.collectives, 'operation')}; {facts}"
    )


def _data(i: Inputs) -> Verdict:
    if not i.fetches:
        return none("nothing marks where a step fetches its input", "marks")
    costs = None if i.gpu_slices else f"{some(i.fetches, 'fetch', 'fetches')}, but no GPU work to say what they cost"
    return judged(some(i.fetches, "fetch marked", "fetches marked"), costs, needs="options")


def _memory(i: Inputs) -> Verdict:
    if not i.memory_samples:
        return none("no allocation was traced")
    return in_sql(f"{some(i.memory_samples, 'sample')}")


def _flops(i: Inputs) -> Verdict:
    if not i.operators_with_shapes:
        return none("no operator says the shapes of its arguments")
    return in_sql(f"shapes of {i.operators_with_shapes:,} of {some(i.operators, 'operator')}")


def _mfu(i: Inputs) -> Verdict:
    return _flops(i) if i.gpu_slices else _NO_GPU


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
        return Verdict("ok", "no CUDA graph was launched")
    if not i.graph_nodes:
        return none(
            f"{some(i.graph_launches or i.whole_graphs, 'graph launch', 'graph launches')}, nothing from inside"
        )
    facts = f"{some(i.graph_nodes, 'GPU slice')} from inside graphs"
    return judged(facts, _whole_graphs(i, "hides what ran inside"), needs="options")


def _os(i: Inputs) -> Verdict:
    if not i.os_calls:
        return none("no call of the operating system was traced")
    return Verdict("ok", some(i.os_calls, "call"))


# One for each of traceq.capture.plan.METRICS, by its name.
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
