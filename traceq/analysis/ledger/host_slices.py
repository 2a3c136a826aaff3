"""Activities of the host in its slices, looked up by their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from traceq.analysis.ledger.innermost import NOTHING
from traceq.database.sql import relation, statement

if TYPE_CHECKING:
    import duckdb

    from traceq.analysis.ledger.innermost import Numbers

_ROWS_PER_BATCH = 122_880

# As in host_slices.sql.
_PHASE = 32

# Ids of all slices are numbered from 0 on by traceq's importers. By others they may be any: then places are looked up.
_MOST_IDS = 100_000_000


class Doing(NamedTuple):
    """The host's activity in slices: numbers of host_activity and host_phase, and the id of the slice that waits for a device."""

    activity: Numbers
    phase: Numbers
    synchronizing_id: Numbers


class HostSlices:
    """The activities and phases of table _host_slice by slice id, in about a byte a slice."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, most_ids: int = _MOST_IDS) -> None:
        """Read the table; ids are kept and looked up only if the largest exceeds `most_ids` and 8 times the number of slices."""
        ((count, last),) = connection.execute("select count(*), max(slice_id) from _host_slice").fetchall()
        self._ids: Numbers | None = None
        size = (last or 0) + 1
        if size > max(8 * count, most_ids):
            ids = relation(connection, "select slice_id from _host_slice order by slice_id").to_arrow_table()
            self._ids, size = ids["slice_id"].to_numpy(), count
        # The first place is that of NOTHING.
        self._codes = np.zeros(size + 1, np.uint8)
        for batch in relation(connection, statement("analysis/ledger/host_slices.sql")).to_arrow_reader(
            _ROWS_PER_BATCH
        ):
            self._codes[self._places(batch["slice_id"].to_numpy())] = batch["code"].to_numpy()
        waiting = relation(
            connection,
            "select slice_id, synchronizing_id from _host_slice where synchronizing_id is not null order by slice_id",
        ).to_arrow_table()
        # One more that no id finds.
        self._waiting = np.append(waiting["slice_id"].to_numpy(), np.iinfo(np.int64).max)
        self._waits_in = np.append(waiting["synchronizing_id"].to_numpy(), NOTHING)

    def doing(self, ids: Numbers) -> Doing:
        """Return what the host does in the slices `ids`; for the id NOTHING it is activity 0 and phase 0."""
        codes = self._codes[self._places(ids)]
        place = np.searchsorted(self._waiting, ids)
        waits_in = np.where(self._waiting[place] == ids, self._waits_in[place], NOTHING)
        return Doing(codes % _PHASE, codes // _PHASE, waits_in)

    def _places(self, ids: Numbers) -> Numbers:
        """Return the index of each slice id in the array of codes; 0 for NOTHING."""
        if self._ids is None:
            return ids + 1
        return np.where(ids == NOTHING, 0, np.searchsorted(self._ids, ids) + 1)
