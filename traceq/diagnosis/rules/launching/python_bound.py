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
from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.idle_shares import shares
from traceq.diagnosis.subject import Subject

_STEP = re.compile(r"^(ProfilerStep|traceq\.step)#?$")


def words(subject: Subject, _claim: Claim) -> dict[str, Any]:
    """All of idle_python."""
    places = [{**row, "name": _called(row["name"])} for row in subject.ask("python_bound_facts")]
    return {
        "fix": f"Most of it is in {shares(places)}. {_look(subject)} Compile the part that repeats, "
        "`model = torch.compile(model)`, "
        "so that no Python runs between its operators; move what needs no GPU (metrics, preparing the next batch) to "
        "a thread or process of its own; replace loops over tensors by one operation.",
        "reason": "The frames are in the trace."
        if subject.has("python_frames")
        else "A range is open and no operator or call in it: that is Python as a rule, or work that was not traced.",
    }


def _called(name: object) -> str:
    """A range by its name; that of a step says nothing of where in it."""
    return "the step outside of other ranges" if _STEP.match(str(name)) else str(name)


def _look(subject: Subject) -> str:
    if subject.has("python_frames"):
        return "The frames say where to look."
    return subject.way("python_lines", "Python stacks would say which lines.")
