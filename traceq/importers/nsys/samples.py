"""Samples of threads: of each call chain the innermost function with a name, and the program's own.

Chains are long and samples many: of each only these are kept.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from traceq.importers.nsys.columns import TIME_LIMIT
from traceq.importers.nsys.context import ImportState, Rows, build_batch

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLES = "COMPOSITE_EVENTS"
CHAINS = "SAMPLING_CALLCHAINS"
TABLES = (SAMPLES, CHAINS)

Integers = npt.NDArray[np.int64]

_ROWS = 61_440
_NOTHING = -1
_NO_STRING = -(1 << 63)

# Entries that nsys adds to a chain, and addresses that it could not resolve.
_NO_NAME = re.compile(r"\[|0x[0-9a-fA-F]+$|$")
# The profiler is no part of the program.
_PROFILER = re.compile(r"lib(ToolsInjection|\w*Injection|cupti|nvperf|nvToolsExt)|nsys", re.IGNORECASE)
# What programs are built on: the C and C++ libraries, runtimes of OpenMP, drivers, the interpreter. None is the program.
_FOUNDATION = re.compile(
    r"lib(c|m|mvec|dl|rt|pthread|stdc\+\+|gcc_s|c\+\+|c\+\+abi|gomp|omp|iomp5|atomic|z|numa)[-.]"
    r"|ld[-.]|ld-linux|\[|(lib)?python\d|pypy|lib(cuda|cudart|nvidia-|nvrtc|hip|amdhip64|hsa)|ntdll|kernel32|vmlinux"
)
# Code of the standard library and of CUDA's runtime that is compiled into the program, and what comes before main.
NOT_OWN = re.compile(
    r"([\w&*]+ )*(std|__gnu_cxx|__cxxabiv1|cudart|thrust|cub|fmt)::"
    r"|_start$|__libc_start|__libc_csu|_dl_|libcudart_static|__cudart|__device_stub|(cuda|cu|hip)[A-Z]|NSYS_"
)


class ChainEntries(NamedTuple):
    """Entries of call chains as arrays of one length: index of the sample or stack, depth (0 innermost), two ids of strings."""

    sample: Integers
    depth: Integers
    symbol: Integers
    module: Integers

    def select(self, rows: npt.NDArray[np.bool_] | Integers) -> ChainEntries:
        """Return the entries at these places (a mask or indices)."""
        return ChainEntries(*(column[rows] for column in self))


def read_samples(state: ImportState) -> Rows:
    """Yield batches of cpu_sample, by sample id, for threads that have other records, too."""
    samples = _read_samples(state)
    if not len(samples["id"]):
        return
    frames = _find_frames(state, samples["id"])
    for first in range(0, len(samples["id"]), _ROWS):
        rows = slice(first, first + _ROWS)
        yield (
            "cpu_sample",
            build_batch(
                {
                    "thread_id": pa.array(samples["thread_id"][rows]),
                    "ts": pa.array(samples["ts"][rows]),
                    **{name: _decode_strings(state, ids[rows], name == "module") for name, ids in frames.items()},
                }
            ),
        )


def _read_samples(state: ImportState) -> dict[str, Integers]:
    """Return the columns id, thread_id and ts (ns) of the samples of known threads, sorted by id, each id once."""
    found: dict[str, list[Integers]] = {"id": [np.empty(0, np.int64)], "thread_id": [], "ts": []}
    found["thread_id"], found["ts"] = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for rows in state.read_timed(SAMPLES, ["id", "start", "globalTid"]):
        known = rows.filter(pc.and_(state.threads.are_known(rows.column("globalTid")), rows.column("id").is_valid()))
        found["id"].append(known.column("id").to_numpy())
        found["ts"].append(known.column("start").to_numpy())
        found["thread_id"].append(state.threads.thread_ids(known.column("globalTid")).to_numpy().astype(np.int64))
    columns = {name: np.concatenate(parts) for name, parts in found.items()}
    _, first = np.unique(columns["id"], return_index=True)
    return {name: column[first] for name, column in columns.items()}


def _find_frames(state: ImportState, ids: Integers) -> dict[str, Integers]:
    """Return per sample three ids of strings, _NO_STRING for none, from the entries of its call chain.

    They are "symbol", the innermost function with a name; "module", the innermost file; "caller", the innermost
    function of the program itself. `ids` are the sorted ids of the samples.
    """
    classifier = FrameClassifier(state)
    parts: dict[str, list[ChainEntries]] = {"module": [], "symbol": [], "caller": []}
    for frames in read_chains(state, ids, CHAINS):
        kinds = classifier.classify_entries(frames)
        for name, least in (("module", _ANY), ("symbol", _NAMED), ("caller", _CALLER)):
            parts[name].append(_pick_innermost(frames.select(kinds >= least)))
    return {
        name: _strings_of_samples(found, len(ids), "module" if name == "module" else "symbol")
        for name, found in parts.items()
    }


def read_chains(state: ImportState, ids: Integers, table: str) -> Iterator[ChainEntries]:
    """Yield the call-chain entries of the table that have one of the sorted `ids`, batch by batch."""
    for rows in state.source.read(table, ["id", "stackDepth", "symbol", "module", "unresolved"]):
        numbers = rows.column("id").fill_null(_NOTHING).to_numpy()
        at = np.minimum(np.searchsorted(ids, numbers), len(ids) - 1)
        mine = np.flatnonzero(ids[at] == numbers)
        columns = {name: rows.column(name).take(pa.array(mine)) for name in ("stackDepth", "symbol", "module")}
        unresolved = rows.column("unresolved").take(pa.array(mine)).fill_null(0).to_numpy() != 0
        symbol = columns["symbol"].fill_null(_NO_STRING).to_numpy()
        yield ChainEntries(
            at[mine],
            np.clip(columns["stackDepth"].fill_null(TIME_LIMIT).to_numpy(), 0, TIME_LIMIT),
            np.where(unresolved, _NO_STRING, symbol),
            columns["module"].fill_null(_NO_STRING).to_numpy(),
        )


def number_pairs(frames: ChainEntries) -> tuple[list[tuple[int, int]], Integers]:
    """Return the distinct pairs of a symbol and a module among the entries, and for each entry the number of its pair."""
    symbols, symbol = np.unique(frames.symbol, return_inverse=True)
    modules, module = np.unique(frames.module, return_inverse=True)
    pairs, position = np.unique(symbol * len(modules) + module, return_inverse=True)
    of_pairs = (
        values[places].tolist()
        for values, places in zip((symbols, modules), divmod(pairs, max(1, len(modules))), strict=True)
    )
    return list(zip(*of_pairs, strict=True)), position


# What an entry is good for; each is what the one before it is, too.
_NEITHER, _ANY, _NAMED, _CALLER = range(4)


class FrameClassifier:
    """Classifier of entries of call chains by symbol and module, which judges each pair of strings once."""

    def __init__(self, state: ImportState) -> None:
        self._state = state
        self._known: dict[tuple[int, int], int] = {}

    def classify_entries(self, frames: ChainEntries) -> Integers:
        """Return the class of each entry: 0 to 3, as `kind_of` says."""
        pairs, position = number_pairs(frames)
        return np.array([self._classify_pair(*pair) for pair in pairs], np.int64)[position]

    def _classify_pair(self, symbol: int, module: int) -> int:
        """Return the class (see kind_of) of an entry, by the ids of its symbol and module."""
        key = symbol, module
        if key not in self._known:
            self._known[key] = kind_of(self._text_of(symbol), _file_name(self._text_of(module)))
        return self._known[key]

    def describe_frame(self, symbol: int, module: int) -> tuple[str, bool]:
        """Return an entry as text, by the ids of its strings, and whether it is a function of the program itself.

        It is the function's name, else its file in brackets; "" for those that tell nothing.
        """
        kind = self._classify_pair(symbol, module)
        if kind >= _NAMED:
            return self._text_of(symbol), kind == _CALLER
        file = _file_name(self._text_of(module)).strip("[]")
        return f"[{file}]" if kind == _ANY and file else "", False

    def _text_of(self, number: int) -> str:
        """Return the string of this id, "" where there is none."""
        return "" if number == _NO_STRING else self._state.strings.find_one(number) or ""


def kind_of(symbol: str, module: str) -> int:
    """Return the class of a call-chain entry, by function name and file name; each class includes the ones before.

    0: unusable (the profiler itself). 1: only the module tells something. 2: a function with a name. 3: a function of
    the program itself, not of a system library or runtime.
    """
    if _PROFILER.match(module) or symbol.startswith("NSYS_") or (module.startswith("[") and symbol.startswith("[")):
        return _NEITHER
    if _NO_NAME.match(symbol):
        return _ANY
    return _NAMED if _FOUNDATION.match(module) or NOT_OWN.match(symbol) else _CALLER


def _pick_innermost(frames: ChainEntries) -> ChainEntries:
    """Return the innermost entry of each sample, in order of the samples."""
    order = np.lexsort((frames.depth, frames.sample))
    ordered = frames.select(order)
    return ordered.select(np.flatnonzero(np.diff(ordered.sample, prepend=_NOTHING) != 0))


def _strings_of_samples(parts: list[ChainEntries], count: int, column: str) -> Integers:
    """Return per sample the id in this column of its innermost entry, _NO_STRING without one; `count` samples in all.

    A sample's entries may lie in several `parts`.
    """
    found = np.full(count, _NO_STRING, np.int64)
    if parts:
        whole = _pick_innermost(ChainEntries(*(np.concatenate(columns) for columns in zip(*parts, strict=True))))
        found[whole.sample] = getattr(whole, column)
    return found


def _decode_strings(state: ImportState, ids: Integers, is_module: bool) -> pa.DictionaryArray:
    """Return the strings of these ids, NULL for none; of a module only the file's name, because folders are private."""
    texts = state.strings.names_or_null(pa.array(ids, mask=ids == _NO_STRING))
    if not is_module:
        return texts
    names = pa.array([_file_name(path) for path in texts.dictionary.to_pylist()], pa.string())
    return pa.DictionaryArray.from_arrays(texts.indices, names)


def _file_name(path: str | None) -> str:
    """Return the path's last part, without its folders, which are private; "" for None."""
    return re.split(r"[/\\]", path or "")[-1]
