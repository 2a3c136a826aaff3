"""Edits of nsys exports: read the raw SQLite, move its rows to new times, add rows, and write it again. No import of traceq."""

from __future__ import annotations

import re
import shutil
import sqlite3
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from edit_chrome import STAGED, wait_of, without_overlap
from retimer import Clock, Retimed, Wait, Work, explain, find_awaited_work, full_queue

Row = dict[str, Any]

GPU = ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET")
CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
SYNCS = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
SCHEDULED = "SCHED_EVENTS"
OVERHEADS, FULL = ("PROFILER_OVERHEAD", "CUPTI_ACTIVITY_KIND_OVERHEAD"), "Command Buffer Full"
ON_HOST = (
    CALLS,
    "NVTX_EVENTS",
    "OSRT_API",
    "PROFILER_OVERHEAD",
    "CUPTI_ACTIVITY_KIND_OVERHEAD",
    SCHEDULED,
    "COMPOSITE_EVENTS",
)
SYNC_NAMES = re.compile(r"cu(da)?(Stream|Device|Event|Ctx)Synchronize")
EVENT_WAIT = re.compile(r"cu(da)?StreamWaitEvent")
COLLECTIVE = re.compile(r"nccl", re.IGNORECASE)
STREAM_SYNC, CONTEXT_SYNC = 3, 4  # ENUM_CUPTI_SYNC_TYPE
PINNED, PAGEABLE = 1, 0  # ENUM_CUDA_MEM_KIND
HOST_TO_DEVICE = 1  # ENUM_CUDA_MEMCPY_OPER


class Export:
    """A copy of an nsys export: its rows, its GPU work and waits as the model takes them."""

    def __init__(self, source: Path, copy: Path) -> None:
        shutil.copyfile(source, copy)
        self.connection = sqlite3.connect(copy)
        self.connection.row_factory = sqlite3.Row
        tables = self.connection.execute("select name from sqlite_master where type = 'table'").fetchall()
        self.tables = {row[0] for row in tables}
        self.strings: dict[int, str] = dict(self.connection.execute("select id, value from StringIds").fetchall())
        self.calls = sorted(self.rows(CALLS), key=lambda row: row["start"])
        self.gpu = [(table, row) for table in GPU for row in self.rows(table)]
        by_correlation = {(read_process(call), call["correlationId"]): call for call in self.calls}
        self.launches = [by_correlation.get((read_process(row), row["correlationId"])) for _, row in self.gpu]
        self.works = [self._read_work(row, call) for (_, row), call in zip(self.gpu, self.launches, strict=True)]
        self._match_collectives()
        waits = [call for call in self.calls if EVENT_WAIT.match(self.name(call))]
        explain(self.works, [(read_process(call), call["globalTid"], call["start"]) for call in waits])
        self.waits = without_overlap([*self._list_waits(), *full_queue(self.works, self._list_full_launches())])

    def rows(self, table: str) -> list[Row]:
        """All rows of a table with their rowid; none where the export does not have it."""
        if table not in self.tables:
            return []
        return [dict(row) for row in self.connection.execute(f"select rowid as _row, * from {table}")]

    def name(self, call: Row) -> str:
        """The name of a call."""
        return self.strings.get(call["nameId"], "")

    def kernel(self, number: int) -> str:
        """The name of GPU work."""
        table, row = self.gpu[number]
        return self.strings.get(row["demangledName"], "") if table == GPU[0] else table

    def _read_work(self, row: Row, call: Row | None) -> Work:
        stream = (row["deviceId"], row["streamId"])
        if call is None:
            return Work(read_process(row), stream, row["start"], row["end"])
        return Work(read_process(row), stream, row["start"], row["end"], call["start"], call["end"], call["globalTid"])

    def _list_full_launches(self) -> set[int]:
        """Work whose launch waits for room: the file has it as an overhead."""
        full = [row for table in OVERHEADS for row in self.rows(table) if self.strings.get(row["nameId"]) == FULL]
        starts = sorted((row["start"], row["end"]) for row in full)
        found = set()
        for number, work in enumerate(self.works):
            place = bisect_left(starts, (work.launched or 0, 0)) - 1
            if work.launch is not None and place >= 0 and starts[place][1] > work.launch:
                found.add(number)
        return found

    def _match_collectives(self) -> None:
        """The n-th collective of each of several processes is one, if they have equally many."""
        of_process: dict[object, list[int]] = defaultdict(list)
        for number in sorted(range(len(self.works)), key=lambda number: self.works[number].start):
            if self.gpu[number][0] == GPU[0] and COLLECTIVE.search(self.kernel(number)):
                of_process[self.works[number].process].append(number)
        if len(of_process) > 1 and len({len(line) for line in of_process.values()}) == 1:
            for place, numbers in enumerate(zip(*of_process.values(), strict=True)):
                begin = max(self.works[number].start for number in numbers)
                if begin < min(self.works[number].end for number in numbers):  # they ran at the same time
                    for number in numbers:
                        self.works[number].collective = place

    def _list_waits(self) -> Iterator[Wait]:
        of_call = {id(call): number for number, call in enumerate(self.launches) if self.gpu[number][0] == GPU[1]}
        by_stream: dict[tuple[object, object], list[tuple[int, int]]] = defaultdict(list)
        for number, work in enumerate(self.works):
            by_stream[work.process, work.stream].append((work.start if work.launch is None else work.launch, number))
        for line in by_stream.values():
            line.sort()
        syncs = {(read_process(row), row["correlationId"]): row for row in self.rows(SYNCS)}
        for call in self.calls:
            begin, finish = call["start"], call["end"]
            if id(call) in of_call:
                number = of_call[id(call)]
                if self.works[number].end <= finish + STAGED and self.works[number].start < finish:
                    yield Wait(read_process(call), begin, finish, (number,), 2000, finish - self.works[number].end)
                continue
            if not SYNC_NAMES.match(self.name(call)):
                continue
            sync = syncs.get((read_process(call), call["correlationId"]), {})
            only = sync.get("streamId") if sync.get("syncType") == STREAM_SYNC else None
            given = [
                line[place][1]
                for (owner, stream), line in by_stream.items()
                if owner == read_process(call) and (only is None or stream[1] == only)  # type: ignore[index]
                for place in [bisect_left(line, (begin, -1)) - 1]
                if place >= 0
            ]
            given = [number for number in given if self.works[number].end <= finish]
            if "Event" in self.name(call):
                given = list(find_awaited_work(self.works, given, begin, finish)[0])
            if given:
                yield wait_of(self.works, given, begin, finish)

    def processes(self) -> list[object]:
        """Those that launch GPU work."""
        return sorted({work.process for work in self.works}, key=str)

    def retimed(self, new: Retimed) -> None:
        """Move every row to its new time."""
        clocks = defaultdict(Clock, new.clocks)
        moved = {}
        for table in ON_HOST:
            for row in self.rows(table):
                if row.get("start") is None or row["start"] < 0 or row.get("globalTid") is None:
                    continue
                clock = clocks[read_process(row)]
                begin = clock.start(row["start"])
                finish = max(begin, clock.end(row["end"])) if row.get("end") is not None else None
                if table == CALLS:
                    moved[read_process(row), row["correlationId"]] = (row["start"], row["end"], begin, finish)
                self._put(table, row, begin, finish)
        for row in self.rows(SYNCS):
            call = moved.get((read_process(row), row["correlationId"]))
            if call is None:
                clock = clocks[read_process(row)]
                self._put(SYNCS, row, clock.start(row["start"]), clock.end(row["end"]))
            else:  # as far inside its call as it was
                old_begin, old_end, begin, finish = call
                inside = begin + row["start"] - old_begin
                self._put(SYNCS, row, inside, max(inside, (finish or begin) - (old_end - row["end"])))
        for (table, row), begin, finish in zip(self.gpu, new.starts, new.ends, strict=True):
            self._put(table, row, begin, finish)
        returned = max(call["end"] for call in self.calls)
        last = max([*new.ends, *(clock.now(returned) for clock in clocks.values())])
        if "ANALYSIS_DETAILS" in self.tables:
            sql = "update ANALYSIS_DETAILS set stopTime = max(stopTime, startTime + :last), duration = max(duration, :last)"
            self.connection.execute(sql, {"last": last})

    def shift_gpu(self, by: int) -> None:
        """Set the clock of the GPU apart from that of the host."""
        for table in GPU:
            if table in self.tables:
                self.connection.execute(f"update {table} set start = start + ?, end = end + ?", (by, by))

    def _put(self, table: str, row: Row, begin: int, finish: int | None) -> None:
        if finish is None:
            self.connection.execute(f"update {table} set start = ? where rowid = ?", (begin, row["_row"]))
        else:
            values = (begin, finish, row["_row"])
            self.connection.execute(f"update {table} set start = ?, end = ? where rowid = ?", values)

    def string(self, text: str) -> int:
        """The id of a string, added where it is not there."""
        for number, value in self.strings.items():
            if value == text:
                return number
        number = max(self.strings) + 1
        self.strings[number] = text
        self.connection.execute("insert into StringIds (id, value) values (?, ?)", (number, text))
        return number

    def insert(self, table: str, row: Row) -> None:
        """A new row."""
        row = {column: value for column, value in row.items() if column != "_row"}
        holes = ", ".join("?" for _ in row)
        columns = ", ".join(f'"{column}"' for column in row)
        self.connection.execute(f"insert into {table} ({columns}) values ({holes})", tuple(row.values()))

    def add_synchronize(self, like: Row, begin: int, finish: int) -> None:
        """A call of cudaDeviceSynchronize on the thread of another call, and what CUPTI records of it."""
        highest = max(call["correlationId"] for call in self.calls) + 1
        known = [number for number, text in self.strings.items() if text.startswith("cudaDeviceSynchronize")]
        name = known[0] if known else self.string("cudaDeviceSynchronize_v3020")
        call = {**like, "start": begin, "end": finish, "correlationId": highest, "nameId": name}
        self.insert(CALLS, call)
        self.calls.append(call)
        if SYNCS in self.tables:
            pattern = self.rows(SYNCS)[0]
            of_process = [row for row in self.rows(SYNCS) if read_process(row) == read_process(like)] or [pattern]
            span = {"start": begin + 1000, "end": finish - 500, "correlationId": highest}
            none = {"syncType": CONTEXT_SYNC, "streamId": 0xFFFFFFFF, "eventId": 0}
            self.insert(SYNCS, {**of_process[0], **span, **none})

    def take_off_cpu(self, owner: object, begin: int, finish: int) -> None:
        """The scheduler's records of it: threads of a process that have a core lose it, and get it back."""
        last: dict[int, Row] = {}
        for row in sorted(self.rows(SCHEDULED), key=lambda row: (row["start"], row["isSchedIn"])):
            if row["start"] <= begin and read_process(row) == owner:
                last[row["globalTid"]] = row
        for row in last.values():
            if row["isSchedIn"]:
                self.insert(SCHEDULED, {**row, "start": begin, "isSchedIn": 0})
                self.insert(SCHEDULED, {**row, "start": finish, "isSchedIn": 1})

    def unpin(self, number: int) -> None:
        """The copy to the GPU comes from pageable memory."""
        table, row = self.gpu[number]
        self.connection.execute(f"update {table} set srcKind = ? where rowid = ?", (PAGEABLE, row["_row"]))

    def close(self) -> None:
        """Write it."""
        self.connection.commit()
        self.connection.close()


def read_process(row: Row) -> object:
    """The process of a row: the upper bits of its global thread or process id."""
    owner = row.get("globalTid") if row.get("globalTid") is not None else row.get("globalPid")
    return owner >> 24 if owner is not None else None


def list_pinned_copies(rows: Iterable[tuple[int, tuple[str, Row]]]) -> list[int]:
    """Numbers of copies from pinned host memory to the GPU."""
    return [
        number
        for number, (table, row) in rows
        if table == GPU[1] and row["copyKind"] == HOST_TO_DEVICE and row["srcKind"] == PINNED
    ]
