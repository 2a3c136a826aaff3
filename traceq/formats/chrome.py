"""Capabilities of PyTorch's profiler, which writes Chrome traces, and the options that record them."""

from __future__ import annotations

from traceq.formats.format import Capture, Format, Options
from traceq.formats.nsys import COMMON_WAYS, ELSEWHERE

_HOST = {"activities": ("CPU",)}
_BOTH = {"activities": ("CPU", "CUDA")}
_EXPERIMENTAL = "experimental_config"

_FLOPS = Capture(
    {**_BOTH, "record_shapes": ("True",)},
    "FLOPs follow from the shapes; with_flops=True writes none into the trace, only into tables",
)

_CAPTURES: dict[str, Capture | str] = {
    "steps": Capture(_HOST, "call prof.step() after each step, or mark them: traceq.annotate.step()"),
    "idle": Capture(_BOTH),
    "ledger": Capture(_BOTH),
    "host": Capture(_HOST, "backward and optimizer are marked by PyTorch; forward: traceq.annotate.phase()"),
    "launch": Capture(_BOTH),
    "sync": Capture({**_BOTH, _EXPERIMENTAL: ("enable_cuda_sync_events=True",)}),
    "copies": Capture(_BOTH),
    "occupancy": Capture(_BOTH),
    "hardware-counters": "Kineto no longer has it (profiler_metrics was removed)",
    "communication": Capture(_BOTH, "one trace per rank; sizes and groups need torch.distributed with NCCL"),
    "data": Capture(_BOTH, "DataLoader is marked by PyTorch; other iterables: traceq.annotate.loader(iterable)"),
    "memory": Capture({**_BOTH, "profile_memory": ("True",)}, "what PyTorch's allocator handed out, and what it holds"),
    "flops": _FLOPS,
    "mfu": _FLOPS,
    "python": Capture({**_BOTH, "with_stack": ("True",), "with_modules": ("True",)}),
    "graphs": Capture(_BOTH, "kernels of graphs are always traced one by one"),
    "os": "it does not record system calls",
}

_GPU = "ProfilerActivity.CUDA"
_HOST_AND_GPU = "ProfilerActivity.CPU and CUDA"
_WITH_SHAPES = "profile(record_shapes=True)"
_SYNC_EVENTS = "profile(experimental_config=torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=True))"

_WAYS = {
    **COMMON_WAYS,
    "gpu": _GPU,
    "steps": "traceq.annotate, or profiler.step()",
    "several_steps": "schedule(active=...) with more steps",
    "launches": _HOST_AND_GPU,
    "calls": _HOST_AND_GPU,
    "operators": "ProfilerActivity.CPU",
    "annotations": "traceq.annotate",
    "phases": "traceq record, or traceq.annotate",
    "python_frames": "profile(with_stack=True)",
    "fetches": "a torch DataLoader, or traceq.annotate.fetch",
    "synchronizations": "_ExperimentalConfig(enable_cuda_sync_events=True)",
    "copy_memory": _GPU,
    "kernel_geometry": _GPU,
    "occupancy": "a newer PyTorch, which writes deviceProperties",
    "shapes": _WITH_SHAPES,
    "types": _WITH_SHAPES,
    "flops": _WITH_SHAPES,
    "peaks": _WITH_SHAPES,
    "message_sizes": "PyTorch 2.2 and later",
    "host_alone": _GPU,
    "memory_samples": "profile(profile_memory=True)",
    # what single rules and sections name
    "early_work": "schedule=torch.profiler.schedule(wait=5, warmup=3, active=5)",
    "host_side": "ProfilerActivity.CPU",
    "idle_causes": "ProfilerActivity.CPU and CUDA, with_stack=True, traceq.annotate",
    "later_start": "Let the profiler wait: torch.profiler.schedule(wait=5, warmup=2, active=10).",
    "message_bytes": "PyTorch 2.2 and later record them, earlier ones with `record_shapes=True`",
    "more_steps": "torch.profiler.schedule(wait=5, warmup=2, active=10)",
    "native_step_marks": ", or profiler.step() at its end",
    "no_stacks": "profile(with_stack=False, profile_memory=False)",
    "operator_names": "ProfilerActivity.CPU",
    "operator_ranges": "ProfilerActivity.CPU",
    "python_lines": "profile(with_stack=True) says which lines.",
    "step_call": "prof.step()",
    "step_marks": ", or profiler.step() at its end",
    "stream_events": _SYNC_EVENTS,
}

# Another profiler wrote the trace.
_OF_ITS_OWN = frozenset(_WAYS) - frozenset(COMMON_WAYS)
_ELSEWHERE: dict[str, str | None] = {
    **{name: words for name, words in ELSEWHERE.items() if name in COMMON_WAYS},
    **dict.fromkeys(_OF_ITS_OWN),
    "step_ranges": "a range around each step",
    "loader_mark": "a range around the fetching of input",
}
_SYS_SAMPLE = "rocprof-sys-sample"
_ON_AMD: dict[str, str | None] = {
    **dict.fromkeys(("os_calls", "scheduling", "worker_activity"), _SYS_SAMPLE),
    **dict.fromkeys(("fetch_work", "reads"), "profile(with_stack=True)"),
    "cpu_samples": "perf record, beside it,",
    "locks": f"`{_SYS_SAMPLE}` shows when threads wait.",
    "page_faults": "",
    "graph_nodes": "rocprofv3 --kernel-trace",
    "process_groups": "PyTorch 2.2 and later",
    "described_collectives": "PyTorch 2.2 and later describes them",
}

_SNIPPET = """\
from torch.profiler import ProfilerActivity, profile, schedule

with profile(
{arguments}
) as prof:
    for batch in loader:
        train(batch)
        prof.step()"""

_IMPORT_EXPERIMENTAL = "from torch._C._profiler import _ExperimentalConfig\n"


def _profile_arguments(options: Options) -> list[str]:
    """Return the keyword arguments of torch.profiler.profile as Python text, except `activities`.

    The experimental ones, which other versions may lack, come last.
    """
    plain = [
        f"{name}={','.join(values)}" for name, values in options.items() if name not in ("activities", _EXPERIMENTAL)
    ]
    experimental = options.get(_EXPERIMENTAL, ())
    return [*plain, *([f"{_EXPERIMENTAL}=_ExperimentalConfig({', '.join(experimental)})"] if experimental else [])]


def _spell_options(options: Options) -> str:
    """Return the options as arguments of torch.profiler.profile; without other ones, `activities`."""
    return ", ".join(_profile_arguments(options)) or f"activities=[{', '.join(options['activities'])}]"


def _build_commands(options: Options) -> str:
    """Return Python code that profiles a training loop with these options."""
    arguments = [
        f"activities=[{', '.join(f'ProfilerActivity.{option}' for option in sorted(options['activities']))}]",
        "schedule=schedule(skip_first=5, wait=1, warmup=2, active=5, repeat=1)",
        'on_trace_ready=lambda prof: prof.export_chrome_trace("trace.json.gz")',
        *_profile_arguments(options),
    ]
    snippet = _SNIPPET.format(arguments="\n".join(f"    {argument}," for argument in arguments))
    return f"{_IMPORT_EXPERIMENTAL if _EXPERIMENTAL in options else ''}{snippet}"


CHROME = Format(
    name="chrome",
    profiler="torch.profiler",
    suffixes=(".json", ".trace", ".pt", ".zip"),
    captures=_CAPTURES,
    ways=_WAYS,
    elsewhere=_ELSEWHERE,
    on_amd=_ON_AMD,
    call="profile({})",
    spelled=_spell_options,
    commands=_build_commands,
    only_pytorch=True,
    beside=("nsys",),
    costly_settings=("with_stack", "profile_memory", "with_modules"),
)
