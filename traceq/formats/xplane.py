"""Capabilities of JAX's profiler (XSpace, *.xplane.pb), which has hardly an option."""

from __future__ import annotations

from traceq.formats.format import Capture, Format, Options
from traceq.formats.nsys import COMMON_WAYS

_PLAIN = Capture({})
_NO_SHAPES = "shapes and FLOPs are in the programs of XLA, which traceq does not read; XProf shows them"
_PROFILE = "jax.profiler.trace(folder)"
_ANNOTATE = "jax.profiler.TraceAnnotation"
_STEPS = 'jax.profiler.StepTraceAnnotation("train", step_num=step)'
# No way: its profiler does not record it.
_NOTHING = ""
_XPROF = "XProf itself"
_HOST = "nsys (NVIDIA) or rocprof-sys-sample (AMD)"

_CAPTURES: dict[str, Capture | str] = {
    "steps": Capture({}, f"mark the steps: {_STEPS}"),
    "idle": Capture({"python_tracer_level": ("1",)}),
    "ledger": _PLAIN,
    "host": Capture({}, f"phases are seen only where {_ANNOTATE} names them"),
    "launch": _PLAIN,
    "sync": "it does not record which GPU work waits for which",
    "copies": _PLAIN,
    "occupancy": _PLAIN,
    "hardware-counters": "it records none that traceq reads",
    "communication": Capture({}, "one trace per process; sizes and groups of collectives are not recorded"),
    "data": Capture({}, f"mark the loader: {_ANNOTATE}"),
    "memory": "allocations stay in the arguments of host slices; traceq makes no time series of them",
    "flops": _NO_SHAPES,
    "mfu": _NO_SHAPES,
    "python": Capture({"python_tracer_level": ("1",)}),
    "graphs": Capture({}, "kernels of graphs are traced one by one"),
    "os": "it does not record system calls",
}

_WAYS = {
    **COMMON_WAYS,
    **dict.fromkeys(("cpu_samples", "fetch_work", "os_calls", "reads", "scheduling", "worker_activity"), _HOST),
    **dict.fromkeys(("allocations", "collections", "graph_nodes", "page_faults"), _NOTHING),
    "allocator": _XPROF,
    "allocator_totals": _XPROF,
    "described_collectives": f"{_XPROF} describes them",
    "locks": f"{_HOST} shows when threads wait.",
    "matched_collectives": _XPROF,
    "process_groups": _XPROF,
    "loader_mark": _ANNOTATE,
    "step_ranges": f"{_STEPS} around each step",
    "gpu": _PROFILE,
    "steps": _STEPS,
    "several_steps": "more steps inside jax.profiler.trace()",
    "launches": _PROFILE,
    "calls": _PROFILE,
    "operators": _NOTHING,
    "annotations": _ANNOTATE,
    "phases": _ANNOTATE,
    "python_frames": "ProfileOptions.python_tracer_level = 1",
    "fetches": _ANNOTATE,
    "synchronizations": _NOTHING,
    "copy_memory": _PROFILE,
    "kernel_geometry": _PROFILE,
    "occupancy": _XPROF,
    "shapes": _XPROF,
    "types": _XPROF,
    "flops": _XPROF,
    "peaks": _XPROF,
    "message_sizes": _XPROF,
    "host_alone": _PROFILE,
    "memory_samples": _XPROF,
    # what single rules and sections name
    "early_work": "jax.block_until_ready() before jax.profiler.start_trace()",
    "host_side": "ProfileOptions.host_tracer_level = 2",
    "idle_causes": f"ProfileOptions.python_tracer_level = 1, {_ANNOTATE}",
    "later_start": "Start later: jax.profiler.start_trace() after some steps.",
    "message_bytes": f"{_XPROF} shows them",
    "more_steps": "more steps between jax.profiler.start_trace() and stop_trace()",
    "no_stacks": "ProfileOptions.python_tracer_level = 0",
    "operator_names": f"{_ANNOTATE}, jax.named_scope()",
    "operator_ranges": _ANNOTATE,
    "python_lines": "ProfileOptions.python_tracer_level = 1 says which lines.",
    "native_step_marks": f" ({_STEPS})",
    "step_call": _STEPS,
    "step_marks": f", or {_STEPS}",
    "stream_events": _NOTHING,
}


def _spell_options(options: Options) -> str:
    return ", ".join(f"{name}={','.join(values)}" for name, values in options.items())


def _build_commands(options: Options) -> str:
    """Return Python code that profiles some steps with JAX; it writes FOLDER/plugins/profile/TIME/HOST.xplane.pb."""
    lines = ["import jax", "", "options = jax.profiler.ProfileOptions()"]
    lines += [f"options.{name} = {','.join(values)}" for name, values in options.items()]
    lines += [
        'with jax.profiler.trace("trace", profiler_options=options):',
        "    for step in range(5):",
        '        with jax.profiler.StepTraceAnnotation("train", step_num=step):',
        "            state = train(state, next(batches))",
        "    jax.block_until_ready(state)",
    ]
    return "\n".join(lines)


XPLANE = Format(
    name="xplane",
    profiler="jax.profiler",
    suffixes=(".pb",),
    captures=_CAPTURES,
    ways=_WAYS,
    call="ProfileOptions({})",
    spelled=_spell_options,
    commands=_build_commands,
)
