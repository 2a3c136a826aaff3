"""StringIds: names as Arrow dictionaries, so that a name is stored once however often it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from traceq.importers.nsys.source import NsysExport
    from traceq.importers.rows import Notes

UNKNOWN = "unknown"
# Stands for NULL among ids, and for what comes after the last id.
_NO_ID, _LAST_ID = -(1 << 63), (1 << 63) - 1
_SCHEMA = pa.schema([("id", pa.int64()), ("value", pa.binary())])


def decode_text(raw: pa.Array, notes: Notes) -> pa.Array:
    """Return binary values as text; bytes that are not UTF-8 become U+FFFD, and a note counts such names."""
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:
        values = raw.dictionary_encode()
        texts = [None if one is None else one.decode("utf-8", "replace") for one in values.dictionary.to_pylist()]
        broken = sum("\ufffd" in text for text in texts if text)
        notes.info("invalid_utf8", broken, "names that are not valid UTF-8; the invalid bytes became U+FFFD")
        return pa.array(texts, pa.string()).take(values.indices)


class Strings:
    """The export's strings (table StringIds), found by columns of their ids."""

    def __init__(self, source: NsysExport, notes: Notes) -> None:
        """Load all strings. Ids may be in any order, with gaps; of a repeated id the first string counts (noted)."""
        table = pa.Table.from_batches(source.read("StringIds", ["id"], ["value"]), _SCHEMA)
        # Each chunk on its own, so that one bad name does not slow the others.
        values = pa.concat_arrays(
            [*(decode_text(chunk, notes) for chunk in table["value"].chunks), pa.array([UNKNOWN], pa.string())]
        )
        self._notes = notes
        self._values = values
        self._missing = len(values) - 1
        ids = table["id"].fill_null(_NO_ID).to_numpy()
        usable = np.flatnonzero((pc.binary_length(values).to_numpy()[:-1] > 0) & (ids != _NO_ID))
        different, first = np.unique(ids[usable], return_index=True)
        self._ids = np.append(different, _LAST_ID)
        self._positions = np.append(usable[first], self._missing)
        notes.info(
            "duplicate_string_id",
            len(usable) - len(first),
            "Rows of StringIds with a repeated id; the first one counts.",
        )

    def _find(self, ids: pa.Array) -> tuple[pa.Array, npt.NDArray[np.int64]]:
        """Return each row's index into its distinct ids, and for each distinct id the position of its string."""
        encoded = ids.fill_null(_NO_ID).dictionary_encode()
        different = encoded.dictionary.to_numpy()
        at = np.searchsorted(self._ids, different)
        return encoded.indices, np.where(self._ids[at] == different, self._positions[at], self._missing)

    def names_of(self, ids: pa.Array) -> pa.DictionaryArray:
        """Return the strings of a column of ids, never NULL: "unknown" where missing or empty (counted in a note)."""
        indices, positions = self._find(ids)
        self._notes.info(
            "missing_string",
            pc.sum(pa.array(positions == self._missing).take(indices)).as_py() or 0,
            "rows whose name is not in StringIds; they are called unknown",
        )
        # Only the strings in use travel on: the whole table also holds paths and symbols of sampled call stacks.
        return pa.DictionaryArray.from_arrays(indices, self._values.take(pa.array(positions)))

    def names_or_null(self, ids: pa.Array) -> pa.DictionaryArray:
        """Return the strings of a column of ids, NULL where the id or its string is missing or empty."""
        indices, positions = self._find(ids)
        found = pa.array(np.arange(len(positions)), mask=positions == self._missing).take(indices)
        return pa.DictionaryArray.from_arrays(found, self._values.take(pa.array(positions)))

    def find_one(self, number: object) -> str | None:
        """Return the string of one id; None where it is missing or empty, or the id is no int."""
        if not isinstance(number, int):
            return None
        found = self.names_or_null(pa.array([number], pa.int64()))
        text: str | None = found[0].as_py()
        return text
