"""The kind of a capture (table triage), and whether there is anything in it to judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from traceq.database.query import ask

if TYPE_CHECKING:
    import duckdb

# What there is to judge: a rule speaks of these unless its header (`captures`) says of which.
JUDGED = ("host_only", "one_off", "steps", "window")
EVERY = "every"
# What a header may list under `captures`.
KINDS = ("nothing_recorded", "host_only", "start_up_only", "fragment", "one_off", "steps", "window")
REASONS = (
    *(
        "empty",
        "by_design",
        "rows_missing",
        "not_collected",
        "other_device",
        "stopped",
        "trivial",
        "graph_capture",
        "devices_missing",
    ),
    *("cut", "sampled", "lost", "clocks", "no_unit", "whole_run", "cold", "marked", "recurrence", "unmarked"),
)
CAPTURES = (*KINDS, *REASONS, EVERY)
# Of the others, by kind or by kind and reason: why no rule is asked that does not ask for them.
_NOTHING_TO_JUDGE = {
    "nothing_recorded": "nothing was recorded",
    "start_up_only": "the capture contains only the start of the program, and none of its work",
    "trivial": "the program does next to nothing on the GPU",
    "graph_capture": "launches were recorded into a graph and did not run",
    "lost": "much of the launched work is missing from the capture",
    "devices_missing": "devices that the program uses are missing from the capture",
    "clocks": "the clocks of host and GPU disagree too much to tell what the GPU did in a step",
    "rows_missing": "GPU work was not recorded",
    "not_collected": "GPU work was not recorded",
    "other_device": "the work ran on devices that traceq does not analyse",
}


class Triage(msgspec.Struct, frozen=True):
    """The kind of a trace's capture, and the `reason` and counts that decided it: a row of the table triage."""

    kind: str
    reason: str
    gpu_slices: int
    kernels: int
    host_slices: int
    device_calls: int
    launch_calls: int
    recorded_launches: int
    unmatched_launches: int
    gpus_listed: int
    gpus_used: int
    steps: int
    window_ns: int
    once_ns: int
    set_up_ns: int
    number_gap: float

    @property
    def is_judged(self) -> bool:
        """Whether the capture holds something that rules can judge."""
        return self.why_not == ""

    @property
    def why_not(self) -> str:
        """The reason why the capture holds nothing to judge, as a clause; "" where it holds something."""
        return _NOTHING_TO_JUDGE.get(self.reason) or _NOTHING_TO_JUDGE.get(self.kind, "")


def triage_of(connection: duckdb.DuckDBPyConnection, trace_id: int) -> Triage | None:
    """Return the trace's row of the table triage; None for formats that hold no times, such as memory snapshots."""
    found = ask(connection, "select * exclude (trace_id) from triage where trace_id = $trace_id", trace_id=trace_id)
    return Triage(**found[0]) if found else None
