"""Samples of what threads executed: of each call chain the innermost function that has a name, and the program's own.

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
from traceq.importers.nsys.context import Job, Rows, batch_of

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


class _Frames(NamedTuple):
    """Entries of call chains, one entry each: number of the sample, depth from the innermost, ids of the strings."""

    sample: Integers
    depth: Integers
    symbol: Integers
    module: Integers

    def picked(self, rows: npt.NDArray[np.bool_] | Integers) -> _Frames:
        return _Frames(*(column[rows] for column in self))


def read_samples(job: Job) -> Rows:
    """Rows of cpu_sample for threads of which something else was recorded, too."""
    samples = _samples(job)
    if not len(samples["id"]):
        return
    frames = _frames(job, samples["id"])
    for first in range(0, len(samples["id"]), _ROWS):
        rows = slice(first, first + _ROWS)
        yield (
            "cpu_sample",
            batch_of(
                {
                    "thread_id": pa.array(samples["thread_id"][rows]),
                    "ts": pa.array(samples["ts"][rows]),
                    **{name: _strings(job, ids[rows], name == "module") for name, ids in frames.items()},
                }
            ),
        )


def _samples(job: Job) -> dict[str, Integers]:
    """id, thread_id and ts of the samples, in the order of their ids."""
    found: dict[str, list[Integers]] = {"id": [np.empty(0, np.int64)], "thread_id": [], "ts": []}
    found["thread_id"], found["ts"] = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for rows in job.timed(SAMPLES, ["id", "start", "globalTid"]):
        known = rows.filter(pc.and_(job.threads.are_known(rows.column("globalTid")), rows.column("id").is_valid()))
        found["id"].append(known.column("id").to_numpy())
        found["ts"].append(known.column("start").to_numpy())
        found["thread_id"].append(job.threads.numbers(known.column("globalTid")).to_numpy().astype(np.int64))
    columns = {name: np.concatenate(parts) for name, parts in found.items()}
    _, first = np.unique(columns["id"], return_index=True)
    return {name: column[first] for name, column in columns.items()}


def _frames(job: Job, ids: Integers) -> dict[str, Integers]:
    """Per sample the ids of symbol (innermost with a name), module (innermost) and caller (innermost of the program itself)."""
    own = _Own(job)
    parts: dict[str, list[_Frames]] = {"module": [], "symbol": [], "caller": []}
    for frames in _chains(job, ids):
        kinds = own.kinds(frames)
        for name, least in (("module", _ANY), ("symbol", _NAMED), ("caller", _CALLER)):
            parts[name].append(_innermost(frames.picked(kinds >= least)))
    return {
        name: _of_samples(found, len(ids), "module" if name == "module" else "symbol") for name, found in parts.items()
    }


def _chains(job: Job, ids: Integers) -> Iterator[_Frames]:
    for rows in job.source.read(CHAINS, ["id", "stackDepth", "symbol", "module", "unresolved"]):
        numbers = rows.column("id").fill_null(_NOTHING).to_numpy()
        at = np.minimum(np.searchsorted(ids, numbers), len(ids) - 1)
        mine = np.flatnonzero(ids[at] == numbers)
        columns = {name: rows.column(name).take(pa.array(mine)) for name in ("stackDepth", "symbol", "module")}
        unresolved = rows.column("unresolved").take(pa.array(mine)).fill_null(0).to_numpy() != 0
        symbol = columns["symbol"].fill_null(_NO_STRING).to_numpy()
        yield _Frames(
            at[mine],
            np.clip(columns["stackDepth"].fill_null(TIME_LIMIT).to_numpy(), 0, TIME_LIMIT),
            np.where(unresolved, _NO_STRING, symbol),
            columns["module"].fill_null(_NO_STRING).to_numpy(),
        )


# What an entry is good for; each is what the one before it is, too.
_NEITHER, _ANY, _NAMED, _CALLER = range(4)


class _Own:
    """Which entries of chains are whose, found out once for each pair of strings."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._known: dict[tuple[int, int], int] = {}

    def kinds(self, frames: _Frames) -> Integers:
        """Per entry what it is good for."""
        pairs = np.stack([frames.symbol, frames.module], axis=1)
        different, position = np.unique(pairs, axis=0, return_inverse=True)
        kinds = np.array([self._kind(int(symbol), int(module)) for symbol, module in different], np.int64)
        return kinds[position.reshape(-1)] if len(kinds) else np.empty(0, np.int64)

    def _kind(self, symbol: int, module: int) -> int:
        key = symbol, module
        if key not in self._known:
            self._known[key] = kind_of(self._text(symbol), _file_name(self._text(module)))
        return self._known[key]

    def _text(self, number: int) -> str:
        return "" if number == _NO_STRING else self._job.strings.one(number) or ""


def kind_of(symbol: str, module: str) -> int:
    """What an entry of a chain is good for: 0 nothing, 1 its module, 2 its name, too, 3 it is the program's own function."""
    if _PROFILER.match(module) or symbol.startswith("NSYS_") or (module.startswith("[") and symbol.startswith("[")):
        return _NEITHER
    if _NO_NAME.match(symbol):
        return _ANY
    return _NAMED if _FOUNDATION.match(module) or NOT_OWN.match(symbol) else _CALLER


def _innermost(frames: _Frames) -> _Frames:
    """Of each sample the entry nearest to what was executed."""
    order = np.lexsort((frames.depth, frames.sample))
    ordered = frames.picked(order)
    return ordered.picked(np.flatnonzero(np.diff(ordered.sample, prepend=_NOTHING) != 0))


def _of_samples(parts: list[_Frames], count: int, column: str) -> Integers:
    """Per sample the string of its innermost entry; a chain may lie in several parts."""
    found = np.full(count, _NO_STRING, np.int64)
    if parts:
        whole = _innermost(_Frames(*(np.concatenate(columns) for columns in zip(*parts, strict=True))))
        found[whole.sample] = getattr(whole, column)
    return found


def _strings(job: Job, ids: Integers, is_module: bool) -> pa.DictionaryArray:
    texts = job.strings.optional(pa.array(ids, mask=ids == _NO_STRING))
    if not is_module:
        return texts
    names = pa.array([_file_name(each) for each in texts.dictionary.to_pylist()], pa.string())
    return pa.DictionaryArray.from_arrays(texts.indices, names)


def _file_name(path: str | None) -> str:
    """The name without its folders, which are private."""
    return re.split(r"[/\\]", path or "")[-1]
