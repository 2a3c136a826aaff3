"""The critical path of a job laid out on the clock that its ranks have in common: pieces without a gap that add up to the job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

if TYPE_CHECKING:
    from traceq.analysis.job.graph import Floats, Integers


class JobPathPieces(msgspec.Struct, frozen=True):
    """Pieces of a job's critical path in the order of time, one array element each.

    `member` is the slice that came last to its collective. Where `moves` is false the piece is what its rank did before it,
    where `moves` is true what was left of the collective after it had come. `begin` and `end` are ns after the job's begin.
    """

    member: Integers
    moves: Integers
    begin: Integers
    end: Integers


def lay_out_path(members: Integers, arrivals: Floats, ends: Floats, dur: float) -> JobPathPieces:
    """Return the pieces of the path through `members`, whose collectives they reached at `arrivals` and that ended at `ends`.

    Times are ns after the job's begin, on the common clock; the job lasts `dur` ns, which the pieces add up to. Clocks agree
    within some microseconds only: where a rank seems to come before what it waited for has ended, the piece between is empty.
    """
    borders = np.empty(2 * len(members) + 1)
    borders[0], borders[1::2], borders[2::2] = 0.0, arrivals, ends
    borders[-1] = dur
    found = np.maximum.accumulate(np.clip(np.rint(borders), 0, int(dur))).astype(np.int64)
    return JobPathPieces(
        np.repeat(members, 2), np.tile(np.array([0, 1]), len(members)), begin=found[:-1], end=found[1:]
    )
