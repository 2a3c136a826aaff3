"""Names of slices on the critical path, the operators around them, and their GPU slices, by number."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from traceq.analysis.replay.recorded import NONE
from traceq.database.sql import relation, run, statement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import duckdb
    import numpy.typing as npt
    import pyarrow as pa

    from traceq.analysis.replay.recorded import Booleans, Integers, Recorded

    Numbers = npt.NDArray[np.int32]

_ROWS_AT_ONCE = 1 << 18
# Ids that are spread over more than so many times their number are looked up instead of counted.
_SPREAD = 4


class Names:
    """Names of slices as positions in `words`, -1 for none.

    Known are the slices of `recorded`, the host slices `asked` and their operators: of a large trace few steps are replayed.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, recorded: Recorded, asked: Sequence[Integers]) -> None:
        run(connection, "analysis/replay/path_name.sql")
        words = relation(connection, "select name from _path_name order by number").to_arrow_table()
        self.words: pa.Array = words["name"].combine_chunks()
        self._work = recorded.work
        self._launch = np.where(recorded.work.is_launched, recorded.events.slice_id[recorded.work.event], NONE)
        on_host = _with_operators(connection, _range((*asked, self._launch)))
        on_gpu = _range([recorded.work.slice_id])
        self._host, self._gpu = _Ids(connection, "cpu_slice", on_host), _Ids(connection, "gpu_slice", on_gpu)
        self._name, self._operator = self._host.numbers(), self._host.numbers()
        self._is_operator = np.zeros(len(self._name), bool)
        for rows in _read(connection, "path_slice", on_host):
            here = self._host.positions(rows["slice_id"])
            self._name[here], self._is_operator[here] = rows["number"], rows["is_operator"]
            self._operator[here] = self._host.positions(rows["operator_id"])
        self._operator = _at(self._name, self._operator)
        self._name_of_work, self._place = self._gpu.numbers(), self._gpu.numbers()
        self._operator_of_work = self._gpu.numbers()
        for rows in _read(connection, "path_work", on_gpu):
            here = self._gpu.positions(rows["slice_id"])
            self._name_of_work[here], self._operator_of_work[here] = rows["number"], rows["operator"]
        self._place[self._gpu.positions(recorded.work.slice_id)] = np.arange(len(recorded.work.slice_id))

    def work(self, slice_id: Integers) -> Integers:
        """Return the position of GPU slices in the work that is replayed; -1 for what is none."""
        return _at(self._place, self._gpu.positions(slice_id)).astype(np.int64)

    def of_work(self, place: Integers) -> tuple[Numbers, Numbers]:
        """Return names of GPU slices by position in the work, and the operators around their launches or in their graphs."""
        here = self._gpu.positions(self._work.slice_id[place])
        operator = _at(self._operator_of_work, here)
        launching = _at(self._operator, self._host.positions(self._launch[place]))
        return _at(self._name_of_work, here), np.where(operator >= 0, operator, launching)

    def of_host(self, slice_id: Integers, or_itself: Booleans) -> tuple[Numbers, Numbers]:
        """Return names of host slices, and the operators around them; where `or_itself` an operator is its own."""
        here = self._host.positions(slice_id)
        name, operator = _at(self._name, here), _at(self._operator, here)
        is_it = or_itself & (here >= 0) & self._is_operator[here]
        return name, np.where(is_it, name, operator)


class _Range(NamedTuple):
    """The ids from `first` to `last`; `last` is less where there are none."""

    first: int
    last: int


def _range(ids: Sequence[Integers]) -> _Range:
    """Return the range of ids, without those below 0, which stand for none."""
    known = [some[some >= 0] for some in ids]
    known = [some for some in known if len(some)]
    if not known:
        return _Range(0, -1)
    return _Range(min(int(some.min()) for some in known), max(int(some.max()) for some in known))


def _with_operators(connection: duckdb.DuckDBPyConnection, ids: _Range) -> _Range:
    """Return the range of host slices, with the operators around them."""
    least, most = connection.execute(
        "select min(operator_id), max(operator_id) from cpu_slice where slice_id between $first and $last",
        ids._asdict(),
    ).fetchall()[0]
    return ids if least is None else _Range(min(ids.first, least), max(ids.last, most))


class _Ids:
    """Places for the slices of a table in a range of ids: these follow one another, nearly always."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, table: str, ids: _Range) -> None:
        first, last, count = connection.execute(
            "select coalesce(min(slice_id), 0), coalesce(max(slice_id), -1), count(*)"  # noqa: S608 - a table of ours
            f" from {table} where slice_id between $first and $last",
            ids._asdict(),
        ).fetchall()[0]
        self._first, self._count = first, last - first + 1
        self._sorted: Integers | None = None
        if self._count > _SPREAD * count:
            found = connection.execute(
                f"select slice_id from {table} where slice_id between $first and $last order by slice_id",  # noqa: S608 - as above
                ids._asdict(),
            ).fetchnumpy()
            self._sorted, self._count = np.asarray(found["slice_id"]), count

    def numbers(self) -> Numbers:
        """Return a number for each place, -1 so far, and one for no place."""
        return np.full(self._count + 1, NONE, np.int32)

    def positions(self, ids: Integers) -> Integers:
        """Return places of ids; -1 for unknown ids."""
        if self._sorted is None:
            places = ids - self._first
            return np.where((places >= 0) & (places < self._count), places, NONE)
        places = np.minimum(np.searchsorted(self._sorted, ids), self._count - 1)
        return np.where(self._sorted[places] == ids, places, NONE)


def _at(column: Numbers, places: Integers | Numbers) -> Numbers:
    """Return the numbers at places; the last one stands for no place."""
    return np.asarray(column[places], np.int32)


def _read(connection: duckdb.DuckDBPyConnection, name: str, ids: _Range) -> Iterator[dict[str, npt.NDArray[np.int64]]]:
    """Yield the rows of a query of this folder for a range of slices as columns, block by block."""
    query = relation(connection, statement(f"analysis/replay/{name}.sql"), **ids._asdict())
    for batch in query.to_arrow_reader(_ROWS_AT_ONCE):
        yield {
            field: batch.column(number).to_numpy(zero_copy_only=False)
            for number, field in enumerate(batch.schema.names)
        }
