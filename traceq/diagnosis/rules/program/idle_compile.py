"""GPU idle: the host compiles or loads code.

What it finds
    Time in which nothing runs on the GPU because the host compiles (torch.compile, Triton, nvFuser, XLA, NVRTC,
    ptxas) or loads code onto the GPU.

Why it matters
    A compiled program is waited for once; a capture or a short job that holds the compilation is mostly that.

How it is measured
    The pieces of cause idle_compile in the counted steps (idle_piece), all that no other rule owns. Low 0.5, likely
    1, high 1: a cache on disk still has to be read, and code to be loaded.

What to try
    Compile before what is measured: run all shapes once (warm-up). Keep the caches of the compiler between runs.
    Compile regions that repeat instead of the whole model.

References
    https://docs.pytorch.org/tutorials/recipes/torch_compile_caching_tutorial.html
    https://docs.pytorch.org/tutorials/recipes/regional_compilation.html
"""

from __future__ import annotations

import re
from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.wording import names, plural, time
from traceq.diagnosis.subject import Subject

# What the names of compilers say of what to do; the first that matches counts.
_COMPILERS = (
    (
        r"^Fusion|KernelExecutor|CompiledKernel|ExecutorDispatch|nvfuser",
        (
            "nvFuser compiles each fusion when it first runs, and again for other shapes: run every shape once before what is "
            "measured, and keep shapes fixed so that its cache is hit."
        ),
    ),
    (
        r"dynamo|inductor|compile_fx|OutputGraph|GraphLowering|async_compile|aot",
        (
            "Call the compiled model once with every shape before what is measured; keep TORCHINDUCTOR_CACHE_DIR between "
            "runs, or torch.compiler.save_cache_artifacts() and load_cache_artifacts(); compile the repeated block "
            "instead of the whole model: `for block in model.blocks: block.compile()`."
        ),
    ),
    (r"(?i)xla|hlo|jit_compile", "Call the compiled function once with every shape before what is measured."),
    (
        r"(?i)^(cu|cuda|hip)?(Module|Library|Link)|^(cu|cuda|hip)(Module|Library|Kernel|Link)|lazy|module loading",
        "Code is loaded when it is first used: run the step once before what is measured, or set CUDA_MODULE_LOADING=EAGER.",
    ),
)
_ANY = "Compile and load before what is measured: run the step once with every shape, and keep the compiler's cache."


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """All of idle_compile."""
    worst = subject.worst(claim)
    named = str(worst[0]["name"])
    hint = next((text for pattern, text in _COMPILERS if re.search(pattern, named)), _ANY)
    steps = f" per step, in {claim.row['steps_with_it']} of {plural(subject.steps, 'counted step')}"
    return {
        "fix": f"{hint} Here the GPU waits {time(claim.claimed_ns)}{'' if subject.is_whole_trace else steps} for it, up to "
        f"{time(claim.row['longest_ns'])} at a time ({names(worst[:3])}).",
    }
