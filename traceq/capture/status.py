"""The reports of the processes of a recorded program, and what follows from them when there is no trace."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# In the program itself there is always a way; and inference has no steps to find.
_BY_HAND = "put `with traceq.profile(...)` around the loop (docs/capture.md)"


@dataclass(frozen=True)
class Event:
    """A report of a process; `kind` is python (it started), torch (imported), step (the first), window (open), end or reason."""

    kind: str
    pid: int
    rank: str | None
    time: float
    facts: dict[str, Any]


def read(directory: Path) -> list[Event]:
    """Return the events of all processes by time; unfinished lines of killed processes are left out."""
    events = [_parse_event(line) for path in directory.glob("*.jsonl") for line in path.read_text("utf-8").splitlines()]
    return sorted((event for event in events if event is not None), key=lambda event: event.time)


def _parse_event(line: str) -> Event | None:
    try:
        facts = json.loads(line)
    except ValueError:
        return None
    return Event(facts.pop("kind"), facts.pop("pid"), facts.pop("rank"), facts.pop("time"), facts)


def explain_missing(events: Sequence[Event], *, got_a_trace: bool, exit_code: int) -> list[str]:
    """Return sentences on why there are fewer or shorter traces than requested; `exit_code` is the program's."""
    said = [*list_reasons(events), *dict.fromkeys(_explain_broken_off(events))]
    return said or ([] if got_a_trace else [_explain_no_trace(events, exit_code)])


def list_reasons(events: Sequence[Event]) -> list[str]:
    """Return the distinct reasons that processes reported themselves, with their ranks."""
    return list(
        dict.fromkeys(f"{_name_rank(event)}{event.facts['text']}" for event in events if event.kind == "reason")
    )


def _explain_broken_off(events: Sequence[Event]) -> Iterator[str]:
    finished = {event.pid for event in events if event.kind in {"end", "reason"}}
    for event in events:
        if event.kind == "window" and event.pid not in finished:
            yield (
                f"{_name_rank(event)}process {event.pid} ended within the window before it could write its trace"
                " (os._exit, SIGKILL or a crash): let the window end earlier, with --skip and --steps"
            )


def _name_rank(event: Event) -> str:
    return "" if event.rank is None else f"rank {event.rank}: "


def _explain_no_trace(events: Sequence[Event], exit_code: int) -> str:
    kinds = {event.kind for event in events}
    if "step" in kinds:
        return "the program ended before the window of steps began: lower --skip and --warmup"
    # A program that failed had no chance: advice on how to record it would lead away from what it said itself.
    if exit_code and kinds & {"torch", "python"}:
        until = "an optimizer made a step" if "torch" in kinds else "it imported torch"
        return f"the program ended with exit code {exit_code} before {until}: its own messages say why"
    if "torch" in kinds:
        guess = "inference, or a step that torch.compile has compiled?"
        return f"no torch optimizer made a step, so no steps were found ({guess}): {_BY_HAND}"
    if "python" in kinds:
        return "no Python process of the program imported torch, so there is nothing to record: try --backend nsys"
    return (
        "no Python process of the program could be reached: it is not Python, it clears the environment, or it "
        f"runs as python -I, -E or -S; run it without these, or {_BY_HAND}"
    )
