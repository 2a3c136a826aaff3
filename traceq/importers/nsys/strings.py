"""StringIds: names as Arrow dictionaries, so that a name is stored once however often it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from traceq.importers.nsys.notes import Notes
    from traceq.importers.nsys.source import Source

UNKNOWN = "unknown"
# A direct table costs 4 bytes per possible id; ids above this limit are searched for instead.
_DIRECT_LIMIT = 1 << 25
# Stands for NULL among ids.
_NO_ID = -(1 << 63)


def decoded(raw: pa.Array, notes: Notes) -> pa.Array:
    """Binary to string; bytes that are no UTF-8 become U+FFFD and are counted."""
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:
        values = raw.dictionary_encode()
        texts = [None if one is None else one.decode("utf-8", "replace") for one in values.dictionary.to_pylist()]
        broken = sum("\ufffd" in text for text in texts if text)
        notes.info("invalid_utf8", broken, "Names with bytes that are no UTF-8; those bytes became U+FFFD.")
        return pa.array(texts, pa.string()).take(values.indices)


class Strings:
    """The table StringIds, looked up by arrays of ids."""

    def __init__(self, source: Source, notes: Notes) -> None:
        """Load all strings; ids may be sparse, repeated (the first counts) or absent."""
        batches = list(source.read("StringIds", ["id"], ["value"]))
        table = pa.Table.from_batches(batches) if batches else None
        self._notes = notes
        ids = np.zeros(0, np.int64) if table is None else _int64(table["id"].combine_chunks(), _NO_ID)
        values = pa.array([], pa.string()) if table is None else _joined(decoded_chunks(table["value"], notes))
        # One more entry than the file has, for names that are not in it.
        self._values: pa.Array = pa.concat_arrays([values, pa.array([UNKNOWN], pa.string())])
        self._missing = len(values)
        usable = np.flatnonzero((_int64(pc.binary_length(values), 0) > 0) & (ids != _NO_ID))
        self._ids, first = np.unique(ids[usable], return_index=True)
        self._positions: npt.NDArray[np.int64] = usable[first]
        notes.info(
            "duplicate_string_id",
            len(usable) - len(first),
            "Rows of StringIds with an id that was there before; the first one counts.",
        )
        self._direct = self._direct_table()

    def _direct_table(self) -> npt.NDArray[np.int32] | None:
        if not len(self._ids) or self._ids[0] < 0 or self._ids[-1] >= _DIRECT_LIMIT:
            return None
        direct = np.full(int(self._ids[-1]) + 1, self._missing, np.int32)
        direct[self._ids] = self._positions
        return direct

    def _find(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        if not len(self._ids):
            return np.full(len(ids), self._missing, np.int64)
        if self._direct is not None:
            inside = (ids >= 0) & (ids < len(self._direct))
            return np.where(inside, self._direct[np.where(inside, ids, 0)], self._missing)
        at = np.searchsorted(self._ids, ids).clip(max=len(self._ids) - 1)
        return np.where(self._ids[at] == ids, self._positions[at], self._missing)

    def _encoded(self, positions: pa.Array) -> pa.DictionaryArray:
        # Only the strings in use travel on: the whole table also holds paths and symbols of sampled call
        # stacks.
        compact = positions.dictionary_encode()
        return pa.DictionaryArray.from_arrays(compact.indices, self._values.take(compact.dictionary))

    def names(self, ids: pa.Array) -> pa.DictionaryArray:
        """Names for ids, never NULL: 'unknown' where the id is missing or its string is missing or empty."""
        positions = self._find(_int64(ids, _NO_ID))
        self._notes.info(
            "missing_string",
            int((positions == self._missing).sum()),
            "Rows whose name is not in StringIds; they are called unknown.",
        )
        return self._encoded(pa.array(positions))

    def optional(self, ids: pa.Array) -> pa.DictionaryArray:
        """Strings for ids, NULL where there is none."""
        positions = self._find(_int64(ids, _NO_ID))
        return self._encoded(pa.array(positions, mask=positions == self._missing))

    def one(self, number: object) -> str | None:
        """The string of one id, or None."""
        if not isinstance(number, int):
            return None
        found = self.optional(pa.array([number], pa.int64()))
        text: str | None = found[0].as_py()
        return text


def decoded_chunks(column: pa.ChunkedArray, notes: Notes) -> list[pa.Array]:
    """Each chunk decoded on its own, so that one bad name does not slow the others."""
    return [decoded(chunk, notes) for chunk in column.chunks]


def _joined(chunks: list[pa.Array]) -> pa.Array:
    return pa.concat_arrays(chunks) if chunks else pa.array([], pa.string())


def _int64(column: pa.Array, missing: int) -> npt.NDArray[np.int64]:
    array: npt.NDArray[np.int64] = column.cast(pa.int64()).fill_null(missing).to_numpy(zero_copy_only=False)
    return array
