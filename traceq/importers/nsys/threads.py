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
    """Return the process ids in a column of global ids; NULL for NULL and for 0, which old exports write for "none"."""
    found = pc.bit_wise_and(pc.shift_right(global_ids, 24), _ID_MASK)
    return pc.if_else(pc.equal(global_ids, 0), pa.scalar(None, pa.int64()), found)


def pid_of(global_id: int) -> int:
    """Return the process id in a global id."""
    return global_id >> 24 & _ID_MASK


class Threads:
    """The host threads of the file, numbered from 0 in the order in which rows first name them, and their names."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._own_names: dict[int, str] = {}

    def thread_ids(self, global_tids: pa.Array) -> pa.Array:
        """Return each row's thread_id by its global id; new threads are numbered, rows without one share a number."""
        ids = global_tids.fill_null(0)
        for one in pc.unique(ids).to_pylist():
            self._numbers.setdefault(one, len(self._numbers))
        return pc.index_in(ids, value_set=pa.array(list(self._numbers), pa.int64()))

    def are_known(self, global_tids: pa.Array) -> pa.Array:
        """Return for each row whether its thread already has a number; False for rows without a thread."""
        return pc.is_in(global_tids.fill_null(0), value_set=pa.array([one for one in self._numbers if one], pa.int64()))

    def name(self, global_tid: int, name: str) -> None:
        """Keep the name that the program gave to a thread; it is preferred to the operating system's."""
        self._own_names[global_tid] = name

    def mpi_ranks(self) -> list[int]:
        """Return the MPI ranks in threads' names ("MPI Rank 3"), where nsys wrote them before it had tables for MPI."""
        found = (re.fullmatch(r"MPI Rank ([0-9]{1,7})", name) for name in self._own_names.values())
        return [int(match[1]) for match in found if match]

    def build_rows(self, source: NsysExport, strings: Strings, ranks: dict[int, int | None]) -> list[dict[str, Any]]:
        """Return a row of `thread` per numbered thread; `ranks` are the processes' ranks by process id."""
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
    """Return the operating system's names of the threads in `used`, by global id; nameless threads are left out."""
    names = {}
    for global_tid, name_id in source.fetch_rows("ThreadNames", ["globalTid", "nameId"]):
        name = strings.find_one(name_id) if global_tid in used else None
        if isinstance(global_tid, int) and name:
            names[global_tid] = name
    return names


def _program_names(source: NsysExport, used: set[int]) -> dict[int, str]:
    """Return the executables' names by process id, for processes in `used` only: the machine's others are private."""
    names = {}
    for global_pid, name in source.fetch_rows("PROCESSES", ["globalPid", "name"]):
        if isinstance(global_pid, int) and isinstance(name, str) and pid_of(global_pid) in used:
            program = program_name(name)
            if program:
                names[pid_of(global_pid)] = program
    return names


def program_name(text: str) -> str | None:
    """Return the executable's file name in a command line, without path and arguments, which may hold secrets.

    None where there is none.
    """
    last = re.split(r"[/\\]", text.split(" -", 1)[0].strip())[-1]
    return last.split()[0] if last.split() else None
