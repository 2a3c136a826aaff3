"""Host threads: from nsys' global ids to thread numbers and names.

A global id packs vm (bits 48 up), process id (bits 24-47) and thread id (bits 0-23).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from traceq.importers.nsys.source import NsysExport
    from traceq.importers.nsys.strings import Strings

_ID_MASK = 0xFFFFFF


def process_ids_of(global_ids: pa.Array) -> pa.Array:
    """Return process ids of global ids; NULL stays NULL, and so does the 0 old exports write for "none"."""
    found = pc.bit_wise_and(pc.shift_right(global_ids, 24), _ID_MASK)
    return pc.if_else(pc.equal(global_ids, 0), pa.scalar(None, pa.int64()), found)


def pid_of(global_id: int) -> int:
    """Return the process id of one global id."""
    return global_id >> 24 & _ID_MASK


class Threads:
    """Numbers threads from 0 in the order in which rows first name them."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._own_names: dict[int, str] = {}

    def thread_ids(self, global_tids: pa.Array) -> pa.Array:
        """Return thread_id for each row; rows without a thread share one of their own."""
        ids = global_tids.fill_null(0)
        for one in pc.unique(ids).to_pylist():
            self._numbers.setdefault(one, len(self._numbers))
        return pc.index_in(ids, value_set=pa.array(list(self._numbers), pa.int64()))

    def are_known(self, global_tids: pa.Array) -> pa.Array:
        """Return for each row whether an earlier row named its thread."""
        return pc.is_in(global_tids.fill_null(0), value_set=pa.array([one for one in self._numbers if one], pa.int64()))

    def name(self, global_tid: int, name: str) -> None:
        """Take the name the program itself gave a thread; it goes before the operating system's."""
        self._own_names[global_tid] = name

    def mpi_ranks(self) -> list[int]:
        """Return ranks that nsys wrote down as names of threads, before it had tables for MPI."""
        found = (re.fullmatch(r"MPI Rank ([0-9]{1,7})", name) for name in self._own_names.values())
        return [int(match[1]) for match in found if match]

    def build_rows(self, source: NsysExport, strings: Strings, ranks: dict[int, int | None]) -> list[dict[str, Any]]:
        """Build rows of `thread` for the threads that were used; `ranks` are those of processes."""
        names = _thread_names(source, strings, self._numbers) | self._own_names
        programs = _program_names(source, {pid_of(one) for one in self._numbers if one})
        return [
            {
                "thread_id": number,
                "pid": pid_of(one) if one else None,
                "tid": one & _ID_MASK if one else None,
                "process_name": programs.get(pid_of(one)),
                "thread_name": names.get(one),
                "rank": ranks.get(pid_of(one)),
            }
            for one, number in self._numbers.items()
        ]


def _thread_names(source: NsysExport, strings: Strings, used: dict[int, int]) -> dict[int, str]:
    names = {}
    for global_tid, name_id in source.fetch_rows("ThreadNames", ["globalTid", "nameId"]):
        name = strings.find_one(name_id) if global_tid in used else None
        if isinstance(global_tid, int) and name:
            names[global_tid] = name
    return names


def _program_names(source: NsysExport, used: set[int]) -> dict[int, str]:
    """Read the executables' names. PROCESSES lists every process of the machine; the others are private."""
    names = {}
    for global_pid, name in source.fetch_rows("PROCESSES", ["globalPid", "name"]):
        if isinstance(global_pid, int) and isinstance(name, str) and pid_of(global_pid) in used:
            program = program_name(name)
            if program:
                names[pid_of(global_pid)] = program
    return names


def program_name(text: str) -> str | None:
    """Return the file name of an executable, without path and arguments, which may hold secrets."""
    last = re.split(r"[/\\]", text.split(" -", 1)[0].strip())[-1]
    return last.split()[0] if last.split() else None
