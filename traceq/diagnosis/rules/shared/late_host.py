"""Describe what the host did while it was late, and advise on it."""

from __future__ import annotations

import re
from collections import Counter

from traceq.common.units import duration, share
from traceq.diagnosis.claim import Claim
from traceq.diagnosis.culprits import Node, divide_time
from traceq.diagnosis.rules.shared.remedies import remedy_for
from traceq.diagnosis.rules.shared.wording import cut_name
from traceq.diagnosis.subject import Subject

# More parts are no sentence.
_MOST = 4
_MOST_INSIDE = 3
# What holds more of a claim than all else together decides what to do about it.
_HELD = 0.5
# By remedy the names that show that the host did something else than launch.
_SHOWN_BY = {
    each: re.compile("|".join(patterns))
    for each, patterns in {
        "capture_less": (r"torch/profiler/|autograd/profiler\.py", r"(?i:kineto|cupti)"),
        "script_before": (r"GraphExecutor", r"torch/jit/(_recursive|frontend)\.py", r"TensorExpr(Kernel)?::compile"),
        "compile_before": (
            r"torch/_dynamo/(convert_frame|symbolic_convert|output_graph)",
            r"torch/_inductor/(compile_fx|graph|scheduler)\.py",
            r"triton/(compiler|runtime/(autotuner|jit)\.py.*compile)",
            r"^nvrtc|^hiprtc|numba/core|GPUCompiler|ptxas|(?i:jit_?compile|backend_compile|autotun)",
        ),
        "load_before": (
            r"^(cu|hip)(Module|Library)\w*Load|^dlopen|importlib",
            r"(?i:lazy function loading|module loading)",
        ),
        "files_off_thread": (
            r"torch/serialization\.py|(^|/)(safetensors|pickle|tarfile|zipfile|h5py)\b",
            r"^(p?readv?|readline|readinto|p?writev?|flush|fsync|fopen|open|io\.open)$",
        ),
        "hand_over": (
            r"^acquire$|threading\.py\(\d+\): (wait|join|acquire)|queue\.py\(\d+\): get",
            r"^(sem_|pthread_(mutex|cond)|futex)",
        ),
        "wait_elsewhere": (
            r"(subprocess|selectors|socket)\.py|multiprocessing/(connection|popen\w*|pool)",
            r"^(waitpid|wait4|p?poll|epoll_wait|select|recv\w*|accept)$",
        ),
        "input_off_thread": (
            r"(?i:dataload|collate|torch/utils/data|torchvision/(transforms|io|datasets)|\bPIL\b|\bcv2\b|decord|torchaudio)",
            r"(?i:librosa|albumentations|tokeniz|pre_?process|(image|video)_processing|feature_extraction|image_transforms)",
            r"(?i:augment|decode_(image|jpeg|video)|(load|prepare|fetch|next|get)_(batch|input|image|sample))",
        ),
        "launch_less": (r"ExecutorState|PjRt|PJRT|ThunkExecut|EagerExecute|TFE_|SessionRun",),
    }.items()
}
# What they call is theirs, too. Of the others it need not be: a process that another started runs its work within that call.
_WITH_WHAT_IS_INSIDE = frozenset(("script_before", "compile_before", "files_off_thread", "input_off_thread"))
# What a rule can say of the host: the remedies above, and that of a rule where nothing else holds most of the time.
REMEDIES = tuple(_SHOWN_BY)


def describe_places(subject: Subject, claim: Claim) -> str:
    """Say where the time of a claim went, per step and as a share: "preprocess 178 ms (81 %; rescale 15 %), decode 36 ms"."""
    described = []
    for place in divide_time(subject.culprits(claim))[:_MOST]:
        shares = share(place.share)
        if place.parts:
            shares += "; " + ", ".join(
                f"{cut_name(part.name)} {share(part.share)}" for part in place.parts[:_MOST_INSIDE]
            )
        described.append(f"{cut_name(place.name)} {duration(place.dur / subject.steps)} ({shares})")
    return ", ".join(described) or "nothing with a name"


def find_main_remedy(subject: Subject, claim: Claim) -> str:
    """Return the name of the remedy for what over half of a claim's time was spent in; "" where nothing holds that much.

    It is found by the names of the host slices in that time.
    """
    root = subject.culprits(claim)
    times: Counter[str] = Counter()
    stack: list[tuple[Node, str]] = [(root, "")]
    while stack:
        node, around = stack.pop()
        shown = next((name for name, pattern in _SHOWN_BY.items() if pattern.search(node.name)), around)
        times[shown] += round(node.own)
        around = shown if shown in _WITH_WHAT_IS_INSIDE and not node.name.startswith("nn.Module") else ""
        stack.extend((child, around) for child in node.children.values())
    found, most = max(times.items(), key=lambda each: each[1], default=("", 0))
    return found if most > _HELD * root.total else ""


def advise_by_place(subject: Subject, claim: Claim, otherwise: str) -> str:
    """Return the text of the remedy for what most of a claim's time was spent in; that of the remedy `otherwise` without one."""
    return remedy_for(subject.program, find_main_remedy(subject, claim) or otherwise)
