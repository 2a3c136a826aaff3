"""Code is loaded onto the GPU inside steps.

What it finds
    Calls that load modules or libraries of kernels (cuModuleLoadData, cuLibraryLoadData, nsys' "Lazy Function
    Loading" and "Runtime Triggered Module Loading"), and first launches of kernels that take many times as long as
    a launch does.

Why it matters
    By default a kernel is loaded when it is first used (CUDA_MODULE_LOADING=LAZY): the first launch of each takes
    milliseconds, may wait for the GPU to be idle, and holds up what follows.

How it is measured
    The pieces of cause idle_compile whose call loads and is in no compilation (idle_piece), and the idle time
    inside the launching call (idle_launch) of a kernel whose name was not seen before, when the call takes at least
    100 us: a launch takes 5 to 10 us, with a profiler up to 50. Low 0.5, likely 1, high 1.

What to try
    Run the step once with every shape before what is measured (warm-up), also of parts that run rarely
    (evaluation). CUDA_MODULE_LOADING=EAGER (AMD: HIP_ENABLE_DEFERRED_LOADING=0) loads everything at the start, for
    more start-up time and memory.

References
    https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html
"""

from __future__ import annotations

from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.kernels import is_amd
from traceq.diagnosis.rules.shared.wording import names, plural, time
from traceq.diagnosis.subject import Subject


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """Idle time in loading of code."""
    worst, slow_ns = subject.worst(claim), int(claim.values["slow_ns"])
    is_named = any(row["is_named"] for row in worst)
    return {
        "fix": "Load code before what counts: run the step once with every shape before training or measuring, rarely used parts "
        f"(evaluation, logging) too; or set {_eager(subject)} in the environment, which loads all at the start. "
        f"{_how_often(subject, claim)}, {time(claim.row['longest_ns'])} at worst ({names(worst[:3])}).",
        "confidence": "high" if is_named else "medium",
        "reason": "The trace has the calls that load."
        if is_named
        else f"Inferred from first launches of kernels in the trace that take at least {slow_ns // 1000} µs.",
    }


def _how_often(subject: Subject, claim: Claim) -> str:
    if subject.steps == 1:
        return f"The {'trace' if subject.is_whole_trace else 'step'} has {plural(claim.instances, 'such wait')}"
    load = "loads" if claim.row["steps_with_it"] == 1 else "load"
    return f"{claim.row['steps_with_it']} of {subject.steps} counted steps {load} code"


def _eager(subject: Subject) -> str:
    return "HIP_ENABLE_DEFERRED_LOADING=0" if is_amd(subject) else "CUDA_MODULE_LOADING=EAGER"
