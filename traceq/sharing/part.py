"""Choose a part of a trace, and describe it so that its steps are those of the whole."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from traceq.analysis.steps.choice import Window
from traceq.analysis.steps.window import Extent, window_extent
from traceq.database.query import ask
from traceq.database.sql import run, statement
from traceq.errors import WrongUse

if TYPE_CHECKING:
    import duckdb


_TRAINING = """
    select coalesce(t.pid::varchar, t.process_name) as pid, coalesce(t.tid::varchar, t.thread_name) as tid
    from (select any_value(thread_id) as thread_id from host_ledger where trace_id = $trace_id) as h
    inner join thread as t on t.trace_id = $trace_id and t.thread_id = h.thread_id
"""
_OUTSIDE = "outside of --window"


class TracePart(msgspec.Struct, frozen=True):
    """A part of a trace, from `ts` to `ts_end` (ns, the trace's clock); `said` describes it and its steps for the file."""

    ts: int
    ts_end: int
    said: dict[str, Any]

    @property
    def steps(self) -> int:
        """The number of steps in the part."""
        return len(self.said["steps"])

    @property
    def as_text(self) -> str:
        """The description of the part that is written into the file, as JSON text."""
        return json.dumps({"trim": self.said})


def part_of_steps(connection: duckdb.DuckDBPyConnection, trace_id: int, first: int, last: int) -> TracePart:
    """Return the part that holds the steps `first` to `last`, by their numbers (step.step).

    Raises WrongUse if the trace has no such step.
    """
    steps = _read_steps(connection, trace_id)
    numbers = [step["step"] for step in steps]
    places = [place for place, number in enumerate(numbers) if first <= number <= last]
    if not places:
        there = f"they are numbered {min(numbers)}..{max(numbers)}" if numbers else "it has none"
        given = first if first == last else f"{first}..{last}"
        raise WrongUse(f"--steps {given}: the trace has no such steps; {there}.")
    return _make_part(connection, trace_id, steps, places, None)


def part_of_window(connection: duckdb.DuckDBPyConnection, trace_id: int, window: Window) -> TracePart:
    """Return the part of the time `window` of a trace; the steps that begin in it are its steps.

    The trace must have been ingested with this --window. Raises WrongUse where the window or its steps cannot be found.
    """
    run(connection, "sharing/sql/staged.sql", trace_id=trace_id)
    extent = window_extent(connection, window)
    if extent is None:
        raise WrongUse("--window: no annotation has this name, or it ends before it starts.")
    steps = _read_steps(connection, trace_id)
    if [step["source"] for step in steps] == ["window"]:
        # No whole step lies in it: then it is itself what is judged, until its work is done.
        return _make_part(connection, trace_id, steps, [0], None)
    places = [
        place
        for place, step in enumerate(steps)
        if step["excluded"] != _OUTSIDE and extent.ts <= step["ts"] < extent.ts_end
    ]
    if not places:
        raise WrongUse("--window: no step begins in it.")
    return _make_part(connection, trace_id, steps, places, extent)


def whole_part(connection: duckdb.DuckDBPyConnection, trace_id: int) -> TracePart:
    """Return the part that is the whole trace, with the description of its steps; raise WrongUse if it has no steps."""
    steps = _read_steps(connection, trace_id)
    ((ts, ts_end),) = run(connection, "sharing/sql/extent.sql", trace_id=trace_id).fetchall()
    if not steps or ts is None:
        raise WrongUse("the trace has nothing that could be trimmed.")
    part = _make_part(connection, trace_id, steps, range(len(steps)), None)
    return TracePart(min(ts, part.ts), max(ts_end, part.ts_end) + 1, part.said)


def _read_steps(connection: duckdb.DuckDBPyConnection, trace_id: int) -> list[dict[str, Any]]:
    """Return the steps of the trace in order, as a dict of the columns of sharing/sql/steps.sql each."""
    return ask(connection, statement("sharing/sql/steps.sql"), trace_id=trace_id)


def _make_part(
    connection: duckdb.DuckDBPyConnection,
    trace_id: int,
    steps: Sequence[dict[str, Any]],
    places: Sequence[int],
    extent: Extent | None,
) -> TracePart:
    """Return the part with the steps at the indices `places`, from the first step's begin to the last one's end.

    It is extended to `extent` if that is given, and gets the description for the file.
    """
    chosen = [steps[place] for place in places]
    ts, ts_end = chosen[0]["ts"], chosen[-1]["ts_end"]
    if extent is not None:
        ts, ts_end = min(ts, extent.ts), max(ts_end, extent.ts_end)
    training = ask(connection, _TRAINING, trace_id=trace_id)
    said = {
        "window": [ts, ts_end],
        "source": chosen[0]["source"],
        "unit": re.sub(r"#?\d+", "#", chosen[0]["name"]),
        "clock": "gpu" if chosen[0]["is_gpu"] and chosen[0]["source"] == "recurrence" else "host",
        "is_followed": places[-1] + 1 < len(steps),
        "training": training[0] if training else {},
        "steps": [_describe_step(step, is_last=step is steps[-1]) for step in chosen],
    }
    return TracePart(ts, ts_end, said)


def _describe_step(step: dict[str, Any], *, is_last: bool) -> dict[str, Any]:
    """Return the description of a step for the file.

    The trace's last step ends with its last launch, so that its GPU work still belongs to it and later launches do not.
    """
    lasts = is_last and step["gpu_ts_end"] == step["ts_end"] and step["last_launch"] is not None
    own_end = step["last_launch"] + 1 if lasts else step["ts_end"]
    told = {"name": step["name"], "number": step["step"], "ts": step["ts"], "ts_end": max(own_end, step["ts"] + 1)}
    told |= {key: step[key] for key in ("pid", "tid", "excluded") if step[key] is not None}
    return told
