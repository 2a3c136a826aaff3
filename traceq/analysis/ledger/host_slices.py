"""What the host is busy with in its slices, looked up by their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from traceq.analysis.ledger.innermost import NOTHING
from traceq.database.sql import statement

if TYPE_CHECKING:
    import duckdb

    from traceq.analysis.nesting.stack import Integers

    Numbers = npt.NDArray[np.integer]

_ROWS_PER_BATCH = 122_880

# host_slices.sql: phase * 32 + activity
_PHASE = 32

# A byte for every id up to the last one, where there are at most so many ids beside those of host slices.
_SPARE = 100_000_000


class Doing(NamedTuple):
    """What the host does in slices, by numbers of host_activity and host_phase, and the slices in which it waits for a device."""

    activity: Numbers
    phase: Numbers
    synchronizing_id: Integers


class HostSlices:
    """The table _host_slice, in about a byte a slice."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        ((count, last),) = connection.execute("select count(*), max(slice_id) from _host_slice").fetchall()
        self._ids: Integers | None = None
        if count and last - count > _SPARE:
            ids = connection.sql("select slice_id from _host_slice order by slice_id").to_arrow_table()
            self._ids = ids["slice_id"].to_numpy()
            last = count - 1
        # The first one is for NOTHING.
        self._codes = np.zeros((last or 0) + 2, np.uint8)
        for batch in connection.sql(statement("analysis/ledger/host_slices.sql")).to_arrow_reader(_ROWS_PER_BATCH):
            self._codes[self._places(batch["slice_id"].to_numpy())] = batch["code"].to_numpy()
        waiting = connection.sql(
            "select slice_id, synchronizing_id from _host_slice where synchronizing_id is not null order by slice_id"
        ).to_arrow_table()
        # One more that is found by none.
        self._waiting = np.append(waiting["slice_id"].to_numpy(), np.iinfo(np.int64).max)
        self._waits_in = np.append(waiting["synchronizing_id"].to_numpy(), NOTHING)

    def doing(self, ids: Integers) -> Doing:
        """What the host does in these slices, which may be NOTHING."""
        codes = self._codes[self._places(ids)]
        place = np.searchsorted(self._waiting, ids)
        waits_in = np.where(self._waiting[place] == ids, self._waits_in[place], NOTHING)
        return Doing(codes % _PHASE, codes // _PHASE, waits_in)

    def _places(self, ids: Integers) -> Integers:
        if self._ids is None:
            return ids + 1
        return np.where(ids == NOTHING, 0, np.searchsorted(self._ids, ids) + 1)
