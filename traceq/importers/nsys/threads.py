"""Host threads: from nsys' global ids to thread numbers and names.

A global id packs hardware and virtual machine (bits 48 up), process id (bits 24-47) and thread id (bits 0-23). Containers and
virtual machines have process ids of their own: only the bits from 24 up tell processes apart.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from traceq.importers.nsys.source import NsysExport
    from traceq.importers.nsys.strings import Strings
    from traceq.importers.rows import Notes

_ID_BITS = 24
_ID_MASK = (1 << _ID_BITS) - 1


class ProcessIds:
    """Process ids by global id, one of its own for each process.

    Of several processes with one process id the first that rows name keeps it, the next ones get it plus 16777216, 33554432 and
    so on, which no process of Linux has.
    """

    def __init__(self) -> None:
        self._pids: dict[int, int] = {}
        self._sharing: Counter[int] = Counter()

    def pid_of(self, global_id: int) -> int:
        """Return the process id of one global id."""
        process = global_id >> _ID_BITS
        if process and process not in self._pids:
            pid = process & _ID_MASK
            self._pids[process] = pid + (self._sharing[pid] << _ID_BITS)
            self._sharing[pid] += 1
        return self._pids[process] if process else 0

    def process_ids(self, global_ids: pa.Array) -> pa.Array:
        """Return process ids of global ids; NULL stays NULL, and so does the 0 old exports write for "none"."""
        encoded = pc.if_else(pc.equal(global_ids, 0), pa.scalar(None, pa.int64()), global_ids).dictionary_encode()
        pids = [self.pid_of(one) for one in encoded.dictionary.to_pylist()]
        return pa.array(pids, pa.int64()).take(encoded.indices)

    def global_pids_of(self, pid: int) -> list[int]:
        """Return the global ids of the processes that rows have named and whose own process id is `pid`."""
        return [process << _ID_BITS for process in self._pids if process & _ID_MASK == pid]

    def note_shared(self, notes: Notes) -> None:
        """Note processes that have the process id of another."""
        notes.info(
            "process_ids_shared",
            sum(pid > _ID_MASK for pid in self._pids.values()),
            "Processes that share a process id with one in another container or virtual machine (their global ids differ);"
            " they are kept apart, as pid + 16777216, pid + 33554432 and so on.",
        )


class Threads:
    """The host threads of the file, numbered from 0 in the order in which rows first name them, and their names."""

    def __init__(self, processes: ProcessIds) -> None:
        self._processes = processes
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
        pid_of = self._processes.pid_of
        programs = self._program_names(source)
        return [
            {
                "thread_id": number,
                "pid": pid_of(one) if one else None,
                "tid": one & _ID_MASK if one else None,
                "process_name": programs.get(one >> _ID_BITS),
                "thread_name": names.get(one),
                "rank": ranks.get(pid_of(one)) if one else None,
            }
            for one, number in self._numbers.items()
        ]

    def _program_names(self, source: NsysExport) -> dict[int, str]:
        """Read the executables' names. PROCESSES lists every process of the machine; the others are private."""
        used = {one >> _ID_BITS for one in self._numbers if one}
        names = {}
        for global_pid, name in source.fetch_rows("PROCESSES", ["globalPid", "name"]):
            if isinstance(global_pid, int) and isinstance(name, str) and global_pid >> _ID_BITS in used:
                program = program_name(name)
                if program:
                    names[global_pid >> _ID_BITS] = program
        return names


def _thread_names(source: NsysExport, strings: Strings, used: dict[int, int]) -> dict[int, str]:
    """Return the operating system's names of the threads in `used`, by global id; nameless threads are left out."""
    names = {}
    for global_tid, name_id in source.fetch_rows("ThreadNames", ["globalTid", "nameId"]):
        name = strings.find_one(name_id) if global_tid in used else None
        if isinstance(global_tid, int) and name:
            names[global_tid] = name
    return names


def program_name(text: str) -> str | None:
    """Return the executable's file name in a command line, without path and arguments, which may hold secrets.

    None where there is none.
    """
    last = re.split(r"[/\\]", text.split(" -", 1)[0].strip())[-1]
    return last.split()[0] if last.split() else None
