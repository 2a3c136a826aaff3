"""Code is compiled again inside steps.

What it finds
    Compilation (torch.compile, Triton, nvFuser, XLA) in steps that should only run what is compiled: in counted
    steps after the first, or in several of them.

Why it matters
    Compiling takes the host from tenths of a second to minutes, and the GPU waits. It comes back with every new
    shape, type or Python value that the compiled code was specialized on; after
    torch._dynamo.config.recompile_limit of them PyTorch gives up and runs the function eagerly.

How it is measured
    The pieces of cause idle_compile (idle_piece) inside a range, operator or frame of context compile (host_name).
    One counted step that compiles is no repetition when it is the first. Loading of modules is left to
    lazy-module-loading. At least three counted steps are needed to tell. Low 0.5, likely 1, high 1: with fixed
    or dynamic shapes all of it goes, and one more compilation, of the dynamic version, comes.

What to try
    TORCH_LOGS=recompiles says which guard failed. Pad or bucket shapes; torch._dynamo.mark_dynamic for a dimension
    that varies; no Python numbers that change (a step count, a learning rate) in what is compiled; warm up with all
    shapes.

References
    https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html
    https://docs.pytorch.org/docs/stable/torch.compiler_dynamic_shapes.html
"""

from __future__ import annotations

from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.wording import cut, names, plural, time
from traceq.diagnosis.subject import Subject


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """Compilation in several steps, or late."""
    return {
        "fix": f"{plural(claim.row['steps_with_it'], 'counted step')} of {subject.steps} compile "
        f"({names(subject.worst(claim)[:3])}), up to {time(claim.row['longest_ns'])} at a time.{_region(subject)} Run with "
        "TORCH_LOGS=recompiles to see which guard failed. If a dimension varies, mark it before the first call: "
        "`torch._dynamo.mark_dynamic(batch, 0)`, or pad batches to a few fixed shapes and compile each before "
        "training (for nvFuser and XLA this is the way). If a Python number changes, pass it as a tensor.",
    }


def _region(subject: Subject) -> str:
    found = subject.ask("recompilation_facts")
    if not found:
        return ""
    return f" {cut(found[0]['name'])}: that frame has been compiled {found[0]['version'] + 1} times."
