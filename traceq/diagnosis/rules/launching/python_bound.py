"""GPU idle: the host is in Python between operators.

What it finds
    Time in which nothing runs on the GPU because the launching thread runs Python outside of operators and CUDA
    calls.

Why it matters
    Python between two operators is not hidden once the queue of the GPU is empty: the step takes as long as the
    interpreter needs.

How it is measured
    The pieces of cause idle_python in the counted steps (idle_piece), all that no other rule owns: a Python frame
    is innermost, or a range that holds no operator at that time. High 1: what the steps lose to it. Likely 0.7, low 0.2:
    some of it is the program's own work.

What to try
    Move it off the training thread (metrics, preparing input), vectorize loops, keep it out of the inner loop, or
    compile the region around it: torch.compile runs no Python between the operators of a graph.

References
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    https://docs.pytorch.org/docs/stable/torch.compiler.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from traceq.claims.advice import Advice
from traceq.claims.subject import Subject
from traceq.rules.shared.idle_shares import shares

_STEP = re.compile(r"^(ProfilerStep|traceq\.step)#?$")


def python_bound(subject: Subject) -> Iterator[Advice]:
    """All of idle_python."""
    subject.needs("gpu", "steps")
    claim = subject.claim("python_bound", low=0.2, likely=0.7)
    if claim is None:
        if not subject.has("annotations"):
            subject.needs("python_frames")  # without either such time has no cause at all
        return
    places = [{**row, "name": _called(row["name"])} for row in subject.ask("python_bound_facts")]
    yield Advice(
        claim,
        fix=(
            f"Most of it is in {shares(places)}. {_look(subject)} Compile the part that repeats, `model = torch.compile(model)`, "
            "so that no Python runs between its operators; move what needs no GPU (metrics, preparing the next batch) to "
            "a thread or process of its own; replace loops over tensors by one operation."
        ),
        confidence="medium",
        reason=(
            "The frames are in the trace."
            if subject.has("python_frames")
            else "A range is open and no operator or call in it: that is Python as a rule, or work that was not traced."
        ),
        wrong_if="The thread waits there for something that was not traced, such as a lock or another process.",
        is_rest=True,
    )


def _called(name: object) -> str:
    """A range by its name; that of a step says nothing of where in it."""
    return "the step outside of other ranges" if _STEP.match(str(name)) else str(name)


def _look(subject: Subject) -> str:
    if subject.has("python_frames"):
        return "The frames say where to look."
    if subject.format == "nsys":
        return "`nsys profile --python-sampling=true` says which lines, more ranges (traceq.annotate) which parts."
    return "profile(with_stack=True) says which lines."
