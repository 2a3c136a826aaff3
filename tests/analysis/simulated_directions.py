"""Jobs of any collectives, event by event: who waits for whom by the definitions alone, one rank after the other."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from traceq.analysis.job.clocks import Clocks
from traceq.analysis.job.graph import Members
from traceq.analysis.job.uneven import KINDS, UnevenCollectives
from traceq.analysis.job.window import JobSlices

US = 1_000


@dataclass
class Meeting:
    """A collective of some ranks: what each works before it (`own`) and needs in it without waiting (`transfer`), ns.

    `root` is the rank that sends or gets all, None where there is none; `is_told` whether traces tell it.
    """

    op: str
    own: dict[int, int]
    transfer: dict[int, int]
    root: int | None = None
    is_told: bool = True

    def awaited(self, rank: int) -> list[int]:
        """Return the ranks that must have come before this one's own transfer begins."""
        if self.op in ("broadcast", "scatter"):
            return [rank] if rank == self.root else [rank, self.root]
        if self.op in ("reduce", "gather"):
            return list(self.own) if rank == self.root else [rank]
        return list(self.own)


@dataclass
class Happened:
    """Start, end and wait of each rank in each meeting, ns, in the order of the meetings."""

    start: list[dict[int, int]] = field(default_factory=list)
    end: list[dict[int, int]] = field(default_factory=list)
    wait: list[dict[int, int]] = field(default_factory=list)

    @property
    def lasts(self) -> int:
        """When the last rank has left its last meeting."""
        return max(max(ends.values()) for ends in self.end)


def play(meetings: list[Meeting]) -> Happened:
    """Play all meetings, one after the other on each rank."""
    now: dict[int, int] = {}
    happened = Happened()
    for meeting in meetings:
        start = {rank: now.get(rank, 0) + own for rank, own in meeting.own.items()}
        begins = {rank: max(start[other] for other in meeting.awaited(rank)) for rank in start}
        end = {rank: begins[rank] + meeting.transfer[rank] for rank in start}
        happened.start.append(start)
        happened.end.append(end)
        happened.wait.append({rank: begins[rank] - start[rank] for rank in start})
        now |= end
    return happened


def record(meetings: list[Meeting], happened: Happened, ranks: int, offsets: list[int]) -> tuple[JobSlices, Clocks]:
    """Return what profilers of all ranks recorded with clocks that are off by `offsets` (ns), and these clocks."""
    rows = [
        (rank, happened.start[number][rank] + offsets[rank], happened.end[number][rank] + offsets[rank], number)
        for number, meeting in enumerate(meetings)
        for rank in meeting.own
    ]
    rows.sort()
    unit, start, end, match = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    op = [meetings[number].op for number in match]
    zeros, nothing = np.zeros(len(rows), np.int64), np.zeros(len(rows), bool)
    uneven = [number for number, meeting in enumerate(meetings) if meeting.op in KINDS]
    roots = [meetings[n].root if meetings[n].is_told and meetings[n].root is not None else -1 for n in uneven]
    slices = JobSlices(
        Members(unit, zeros, start, end, match, np.ones(len(rows), bool)),
        zeros,
        zeros,
        np.array([[*KINDS, "all_reduce", "send_recv"].index(each) for each in op]),
        zeros,
        np.array([each == "all_reduce" for each in op]),
        nothing,
        nothing,
        nothing,
        UnevenCollectives(np.array(uneven), np.array([KINDS[meetings[n].op] for n in uneven]), np.array(roots))
        if uneven
        else None,
    )
    ticks = np.array(offsets, float)
    joined = np.ones(ranks, bool)
    return slices, Clocks(ticks, np.zeros(ranks), joined, joined.astype(np.int64), 0.0, 0.0, 0.0)
