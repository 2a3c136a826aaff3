"""Call stacks that nsys recorded with calls of CUDA (--cudabacktrace) and with long calls of the operating system."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from traceq.common.text import shortened
from traceq.importers.nsys.context import ImportState, Rows, build_batch
from traceq.importers.nsys.samples import ChainEntries, FrameClassifier, Integers, number_pairs, read_chains

# Table of calls -> table of their call stacks. Rows of the first may be read only to carry a stack.
CHAINS = {"CUPTI_ACTIVITY_KIND_RUNTIME": "CUDA_CALLCHAINS", "OSRT_API": "OSRT_CALLCHAINS"}
TABLES = tuple(CHAINS.values())

# In tables of CUDA calls, rows that repeat a call to carry its stack.
CARRIER_CLASS = 67

# Of a longer stack the outer frames are left out, and of a longer name its end.
_MOST_FRAMES, _NAME_LIMIT = 64, 120
_ROWS = 61_440
_BETWEEN = " > "
# Of stacks, to find out how they are numbered.
_ENTRIES_COMPARED = 100_000


class StackedCalls:
    """The calls of one table that have a call stack: their slice ids, and the numbers of their stacks."""

    def __init__(self, state: ImportState, table: str) -> None:
        """Read which CUDA calls have a stack; those of the operating system tell it themselves."""
        self._chain_of: dict[tuple[int, int], int] = {}
        self._slices: list[Integers] = []
        self._chains: list[Integers] = []
        self._chain_table = CHAINS.get(table)
        self._is_carried = table == "CUPTI_ACTIVITY_KIND_RUNTIME"
        if self._is_carried and state.source.columns_of(self._chain_table or ""):
            self._read_carriers(state, table)

    def _read_carriers(self, state: ImportState, table: str) -> None:
        """Read the rows of the table that carry the stack of a call: its thread and number tell which."""
        wanted = ["globalTid", "correlationId", "eventClass", "callchainId", "nameId"]
        names: dict[int, int] = {}
        for rows in state.source.read(table, wanted):
            thread, call, kind, chain, name = (_numbers_of(rows.column(column)) for column in wanted)
            carries = (kind == CARRIER_CLASS) & (chain >= 0)
            keys = zip(thread[carries].tolist(), call[carries].tolist(), strict=True)
            self._chain_of |= dict(zip(keys, chain[carries].tolist(), strict=True))
            names |= dict(zip(chain[carries].tolist(), name[carries].tolist(), strict=True))
        shift = _find_shift(state, self._chain_table or "", names) if names else 0
        self._chain_of = {key: chain + shift for key, chain in self._chain_of.items()}

    def add_calls(self, rows: pa.RecordBatch, slice_ids: pa.Array) -> None:
        """Note which of these calls, whose slices have the ids, have a stack."""
        if self._is_carried:
            if not self._chain_of:
                return
            keys = zip(
                _numbers_of(rows.column("globalTid")).tolist(),
                _numbers_of(rows.column("correlationId")).tolist(),
                strict=True,
            )
            chains = np.array([self._chain_of.get(key, -1) for key in keys], np.int64)
        elif self._chain_table is not None:
            chains = _numbers_of(rows.column("callchainId"))
        else:
            return
        has_stack = chains >= 0
        self._slices.append(slice_ids.to_numpy()[has_stack])
        self._chains.append(chains[has_stack])

    def read_stacks(self, state: ImportState) -> Rows:
        """Yield batches of backtrace for the calls noted so far whose stack has a named frame."""
        if not any(map(len, self._slices)):
            return
        slices, chains = np.concatenate(self._slices), np.concatenate(self._chains)
        numbers, place = np.unique(chains, return_inverse=True)
        texts = _read_texts(state, self._chain_table or "", numbers)
        kept = np.flatnonzero(np.array([text is not None for text, _ in texts])[place])
        for first in range(0, len(kept), _ROWS):
            some = kept[first : first + _ROWS]
            stacks, callers = zip(*(texts[at] for at in place[some].tolist()), strict=True)
            columns = {
                "slice_id": pa.array(slices[some]),
                "stack": pa.array(stacks, pa.string()).dictionary_encode(),
                "caller": pa.array(callers, pa.string()).dictionary_encode(),
            }
            yield "backtrace", build_batch(columns)


def _find_shift(state: ImportState, table: str, names: dict[int, int]) -> int:
    """Return by how much the ids of stacks in `table` are above the numbers that calls have for them.

    nsys of 2022 numbers them from 0 in the calls and from 1 in the stacks: where the name of the call is among the
    frames of more stacks tells. `names` has the id of the call's name by number.
    """
    agrees: tuple[set[int], set[int]] = (set(), set())
    text_of = cache(state.strings.find_one)
    ids: set[int] = set()
    done = 0
    for rows in state.source.read(table, ["id", "symbol"]):
        for number, symbol in zip(*(_numbers_of(rows.column(name)).tolist() for name in ("id", "symbol")), strict=True):
            ids.add(number)
            for shift, found in enumerate(agrees):
                name = names.get(number - shift)
                if name is not None and text_of(name) is not None and text_of(name) == text_of(symbol):
                    found.add(number)
        done += rows.num_rows
        if done >= _ENTRIES_COMPARED:
            break
    if len(agrees[0]) != len(agrees[1]):
        return int(len(agrees[1]) > len(agrees[0]))
    return int(0 in names and 0 not in ids)


def _numbers_of(column: pa.Array) -> Integers:
    """Return the integers of a column, -1 for NULL."""
    found: Integers = column.fill_null(-1).to_numpy()
    return found


def _read_texts(state: ImportState, table: str, numbers: Integers) -> list[tuple[str | None, str | None]]:
    """Return for each stack of the sorted `numbers` its frames as text, and the innermost function of the program itself.

    Both are None where nothing has a name.
    """
    labels = _Labels(state)
    parts = [labels.number_entries(entries) for entries in read_chains(state, numbers, table)]
    if not parts:
        return [(None, None)] * len(numbers)
    stack, depth, label = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((depth, stack))
    stack, label = stack[order], label[order]
    firsts = np.searchsorted(stack, np.arange(len(numbers) + 1)).tolist()
    known: dict[bytes, tuple[str | None, str | None]] = {}
    found = []
    for first, last in pairwise(firsts):
        frames = label[first : min(last, first + _MOST_FRAMES)]
        key = frames.tobytes()
        if key not in known:
            known[key] = labels.describe_stack(frames.tolist())
        found.append(known[key])
    return found


class _Labels:
    """The frames of stacks as texts with numbers, and which of them are functions of the program itself."""

    def __init__(self, state: ImportState) -> None:
        self._classifier = FrameClassifier(state)
        self._texts: list[str] = []
        self._is_own: list[bool] = []
        self._numbers: dict[tuple[str, bool], int] = {}
        self._of_pair: dict[tuple[int, int], int] = {}

    def number_entries(self, entries: ChainEntries) -> tuple[Integers, Integers, npt.NDArray[np.int32]]:
        """Return (stack, depth, number of the text) of the entries that tell something."""
        pairs, position = number_pairs(entries)
        label = np.array([self._number_pair(*pair) for pair in pairs], np.int32)[position]
        told = label >= 0
        return entries.sample[told], entries.depth[told], label[told]

    def _number_pair(self, symbol: int, module: int) -> int:
        """Return the number of the text for a function and its file, by the ids of their strings; -1 for the profiler's."""
        if (symbol, module) not in self._of_pair:
            text, is_own = self._classifier.describe_frame(symbol, module)
            key = (shortened(text, _NAME_LIMIT), is_own)
            number = -1 if not text else self._numbers.setdefault(key, len(self._texts))
            if number == len(self._texts):
                self._texts.append(key[0])
                self._is_own.append(is_own)
            self._of_pair[symbol, module] = number
        return self._of_pair[symbol, module]

    def describe_stack(self, frames: list[int]) -> tuple[str | None, str | None]:
        """Return the frames, given from the innermost on, as text from the outermost on, and the program's innermost function.

        Frames of one file without names that follow one another are one.
        """
        shown = list(_drop_repeated(self._texts[frame] for frame in reversed(frames)))
        own = next((self._texts[frame] for frame in frames if self._is_own[frame]), None)
        return (_BETWEEN.join(shown), own) if shown else (None, None)


def _drop_repeated(texts: Iterator[str]) -> Iterator[str]:
    """Yield the texts without files ("[libc.so.6]") that follow themselves."""
    before = ""
    for text in texts:
        if text != before or not text.startswith("["):
            yield text
        before = text
