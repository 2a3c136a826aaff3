"""Steps are not marked.

What it finds
    Captures in which nothing marks the steps: all of it counts as one step, or steps were guessed from work that
    recurs.

Why it matters
    Per-step numbers need steps. With one step for everything, start-up and the end are part of every share, and there
    are no percentiles; guessed steps have the right length, but may begin in the middle of the program's own.

How it is measured
    step.source is whole_trace or recurrence. The time outside of GPU work is what of it lies before the first and
    after the last GPU slice. Outermost ranges of one name that occur at least 3 times on one thread and together last
    at least half of the capture could be steps: steps leave little out.

What to try
    traceq.annotate around the loop, profiler.step(), or --step-range with the name of a range, such as one of NVTX
    around each iteration of a program in C++.

References
    https://docs.pytorch.org/docs/stable/profiler.html
    https://docs.nvidia.com/nsight-systems/UserGuide/index.html
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from traceq.diagnosis.advice import Remark
from traceq.diagnosis.rules.shared.wording import percent, time
from traceq.diagnosis.subject import Subject

NAME_LENGTH = 80
RANGE_SHARE = 0.5


def judge(subject: Subject) -> Iterator[Remark]:
    """Steps are missing or guessed."""
    settings = {"range_share": RANGE_SHARE}
    rows = subject.ask("steps_not_marked", **settings)
    if not rows:
        return
    found = rows[0]
    yield Remark(
        text=_whole(found) if found["source"] == "whole_trace" else _guessed(found),
        query="steps_not_marked",
        fix=_fix(subject, found),
        settings=settings,
    )


def _whole(found: Mapping[str, Any]) -> str:
    text = f"Nothing marks steps: the whole capture of {time(found['traced_ns'])} counts as one."
    outside = found["outside_ns"]
    if outside is None or not found["traced_ns"]:
        return text
    return (
        f"{text} {percent(outside / found['traced_ns'])} of it lies before the first and after the last GPU work, "
        "and is idle time in every share."
    )


def _guessed(found: Mapping[str, Any]) -> str:
    return (
        f"{found['steps']} steps of {time(found['traced_ns'] / found['steps'])} were found because the same "
        "work recurs. Their length is that of the program's steps; where they begin is a guess, and so is which is the first."
    )


def _fix(subject: Subject, found: Mapping[str, Any]) -> str:
    mark = f"Mark the loop: with traceq.annotate.step(): around each iteration{_otherwise(subject)}."
    name = found["range"]
    if name is None or len(name) > NAME_LENGTH:
        return mark
    return (
        f"{mark} For this capture: if '{name}' ({found['times']} times) is a step, traceq ingest --step-range "
        f"{shlex.quote(f'^{re.escape(name)}$')}."
    )


def _otherwise(subject: Subject) -> str:
    """How to mark it with PyTorch's profiler, or in a program that need not be Python."""
    is_python = subject.has("operators") or subject.has("python_frames")
    return subject.way("step_marks" if is_python else "native_step_marks")
