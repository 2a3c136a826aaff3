"""From metrics to what is pasted into a shell or a program: the union of the options they need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from traceq.capture.plan import Metric, Nsys, Torch

_PROGRAM = "python train.py"

# The order in which nsys' own documentation lists them.
_TRACES = ("cuda", "nvtx", "osrt")

_SNIPPET = """\
from torch.profiler import ProfilerActivity, profile, schedule

with profile(
{arguments}
) as prof:
    for batch in loader:
        train(batch)
        prof.step()"""

_EXPERIMENTAL = "from torch._C._profiler import _ExperimentalConfig\n"


def nsys_commands(metrics: Sequence[Metric]) -> list[str]:
    """The `nsys profile` line for all of the metrics that nsys can give, and the line that exports its report.

    Empty when it can give none.
    """
    wanted = [metric.nsys for metric in metrics if isinstance(metric.nsys, Nsys)]
    if not wanted:
        return []
    traces = {trace for each in wanted for trace in each.trace}
    options = _once(option for each in wanted for option in each.options)
    profile = [
        f"--trace={','.join(trace for trace in _TRACES if trace in traces)}",
        *options,
        # Both are on unless told otherwise, cost time, and give nothing that traceq reads.
        "--sample=none",
        "--cpuctxsw=none",
        "--output=trace",
    ]
    export = ["--type=sqlite", *(["--include-blobs=true"] if any(each.blobs for each in wanted) else [])]
    return [
        f"nsys profile {' '.join(profile)} {_PROGRAM}",
        f"nsys export {' '.join(export)} --output=trace.sqlite trace.nsys-rep",
    ]


def torch_snippet(metrics: Sequence[Metric]) -> str | None:
    """The lines around a training loop for all of the metrics that torch.profiler can give; None when it can give none."""
    wanted = [metric.torch for metric in metrics if isinstance(metric.torch, Torch)]
    if not wanted:
        return None
    experimental = _once(flag for each in wanted for flag in each.experimental)
    cuda = ", ProfilerActivity.CUDA" if any(each.cuda for each in wanted) else ""
    arguments = [
        f"activities=[ProfilerActivity.CPU{cuda}]",
        "schedule=schedule(skip_first=5, wait=1, warmup=2, active=5, repeat=1)",
        'on_trace_ready=lambda prof: prof.export_chrome_trace("trace.json.gz")',
        *(f"{flag}=True" for flag in _once(flag for each in wanted for flag in each.flags)),
    ]
    if experimental:
        flags = ", ".join(f"{flag}=True" for flag in experimental)
        arguments.append(f"experimental_config=_ExperimentalConfig({flags})")
    snippet = _SNIPPET.format(arguments="\n".join(f"    {argument}," for argument in arguments))
    return f"{_EXPERIMENTAL if experimental else ''}{snippet}"


def record_backend(metrics: Sequence[Metric]) -> str | None:
    """The backend of `traceq record` that gives most of the metrics, torch where both do; None when neither gives any."""
    counts = {backend: sum(backend in metric.record for metric in metrics) for backend in ("torch", "nsys")}
    best = max(counts, key=lambda backend: counts[backend])
    return best if counts[best] else None


def record_command(backend: str) -> str:
    """The `traceq record` line."""
    return f"traceq record --backend {backend} -- {_PROGRAM}"


def _once(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))
