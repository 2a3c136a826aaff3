"""nsys exports changed in a way that means the same, or whose effect on every report is known; each changes a copy in place."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import sqlite_changes
from sqlite_changes import Change, list_columns, update_columns

DAY_NS = 86_400 * 10**9
_DDL = Path(__file__).parents[2] / "fixtures" / "make" / "nsys_ddl"

_STRING_IDS = ("textId", "nameId", "demangledName", "shortName", "mangledName", "jsonTextId", "symbol", "module")
_STRING_IDS += ("contentId", "filenameId", "filename_id")
_CORRELATIONS = ("correlationId",)
_TIMES = ("start", "end", "timestamp", "rawTimestamp")
_THREADS, _PROCESSES, _PIDS = ("globalTid", "endGlobalTid"), ("globalPid",), ("pid", "processId")
_FURTHER = 1000


def add_columns_of_versions(database: sqlite3.Connection) -> None:
    """Add the tables and columns of all versions of nsys, empty and NULL, as exports that are not lazy declare them."""
    with closing(sqlite3.connect(":memory:")) as declared:
        for version in sorted(_DDL.glob("*.sql")):
            declared.executescript(version.read_text().replace("CREATE TABLE ", "create table if not exists "))
            for table, columns in list_columns(declared).items():
                have = list_columns(database).get(table, [])
                if not have:
                    database.execute(
                        f'create table "{table}" ({", ".join(f"{chr(34)}{name}{chr(34)}" for name in columns)})'
                    )
                for column in set(map(str.lower, columns)) - set(map(str.lower, have)) if have else ():
                    database.execute(f'alter table "{table}" add column "{column}"')


def renumber_strings(database: sqlite3.Connection) -> None:
    """Give the texts of StringIds other ids, in another order."""
    ((most,),) = database.execute("select max(id) from StringIds").fetchall()
    update_columns(database, _STRING_IDS, f"2 * {most} + 7 - {{}}")
    # far off first, as an id may be taken
    database.execute(f"update StringIds set id = -1 - (2 * {most} + 7 - id)")
    database.execute("update StringIds set id = -1 - id")


def repeat_strings(database: sqlite3.Connection) -> None:
    """Give every text a second id, which every second row of a table refers to."""
    ((most,),) = database.execute("select max(id) from StringIds").fetchall()
    database.execute(f"insert into StringIds (id, value) select id + {most + 1}, value from StringIds")
    update_columns(database, _STRING_IDS, f"{{}} + {most + 1} * (rowid % 2)")


def renumber_correlations(database: sqlite3.Connection) -> None:
    """Give calls and their work other correlation ids."""
    update_columns(database, _CORRELATIONS, "{0} + 1000000 * ({0} > 0)")


def renumber_processes(database: sqlite3.Connection) -> None:
    """Give processes and threads other numbers; a global id has 24 bits for each of the two."""
    update_columns(database, _THREADS, f"{{}} + ({_FURTHER} << 24) + {_FURTHER}")
    update_columns(database, _PROCESSES, f"{{}} + ({_FURTHER} << 24)")
    update_columns(database, _PIDS, f"{{}} + {_FURTHER}")


def move_epoch(database: sqlite3.Connection) -> None:
    """Say that the capture began a year later, on the same clock of its events."""
    update_columns(database, ("utcEpochNs",), f"{{}} + {365 * DAY_NS}")


def move_times(by: int) -> Change:
    """Return a change that moves all events of the GPU and the host by `by` ns."""

    def moved(database: sqlite3.Connection) -> None:
        update_columns(database, _TIMES, f"{{}} + {by}")

    return moved


def scale_times(database: sqlite3.Connection) -> None:
    """Let everything take twice as long, counted from the start of the capture."""
    update_columns(database, (*_TIMES, "duration", "startTime", "stopTime"), "2 * {}")


def inline_texts(database: sqlite3.Connection) -> None:
    """Write the texts of NVTX ranges into their rows, as versions before StringIds held them."""
    if "NVTX_EVENTS" not in list_columns(database):
        return
    database.execute(
        "update NVTX_EVENTS set text = (select value from StringIds where id = textId), textId = null where textId is not null"
    )


def refer_to_texts(database: sqlite3.Connection) -> None:
    """Write the texts of NVTX ranges into StringIds, and refer to them."""
    if not {"text", "textId"} <= set(list_columns(database).get("NVTX_EVENTS", [])):
        return
    ((most,),) = database.execute("select max(id) from StringIds").fetchall()
    database.execute(
        f"insert into StringIds (id, value) select rowid + {most}, text from NVTX_EVENTS where text is not null"
    )
    database.execute(f"update NVTX_EVENTS set textId = rowid + {most}, text = null where text is not null")


def _append_rows(database: sqlite3.Connection, table: str, changed: dict[str, str]) -> None:
    """Add a copy of every row to the table, with these columns as SQL expressions instead; names without quotes."""
    columns = list_columns(database)[table]
    picked = ", ".join(f'{changed[name]} as "{name}"' if name in changed else f'"{name}"' for name in columns)
    database.execute(f'create table "_{table}" as select * from "{table}" union all select {picked} from "{table}"')
    database.execute(f'drop table "{table}"')
    database.execute(f'alter table "_{table}" rename to "{table}"')


def double(database: sqlite3.Connection) -> None:
    """Add the capture once more, later in time, with ids of its own."""
    columns = list_columns(database)
    timed = [table for table, have in columns.items() if {"start", "end"} <= set(have)]
    spans = [database.execute(f'select min("start"), max("end") from "{table}"').fetchone() for table in timed]
    first, last = (pick(filter(None, ends)) for pick, ends in zip((min, max), zip(*spans, strict=True), strict=True))
    changed = {name: f'"{name}" + {last - first + 1_000_000}' for name in _TIMES}
    changed |= {name: f"{name} + 1000000 * ({name} > 0)" for name in (*_CORRELATIONS, "eventSyncId")}
    for table in columns:
        if table in timed or "correlationId" in columns[table]:
            _append_rows(database, table, changed)


def add_host_process(database: sqlite3.Connection) -> None:
    """Add a process that has ranges and no GPU, during the whole capture."""
    if not {"text", "globalTid"} <= set(list_columns(database).get("NVTX_EVENTS", [])):
        return
    thread = (0x77 << 24 | 0x77) + (
        database.execute("select max(globalTid) from NVTX_EVENTS").fetchone()[0] >> 48 << 48
    )
    database.execute(
        f"""
        insert into NVTX_EVENTS (start, end, eventType, text, globalTid)
        select start + 10, end - 10, 59, 'serve a request', {thread} from NVTX_EVENTS where end > start + 1000 limit 5
        """
    )


def add_gpu_process(database: sqlite3.Connection) -> None:
    """Add a second process with a GPU of its own that does the same at the same time, with the same correlation ids."""
    columns = list_columns(database)
    devices = [table for table, have in columns.items() if "deviceId" in have and table.startswith("CUPTI_")]
    (most,) = max(database.execute(f'select max(deviceId) from "{table}"').fetchone() for table in devices)
    for table, have in columns.items():
        is_of_gpu = table.startswith(("TARGET_INFO_CUDA", "TARGET_INFO_GPU"))
        if not is_of_gpu and not {*_THREADS, *_PROCESSES} & set(have):
            continue
        changed = {name: f"{name} + ({_FURTHER} << 24) + {_FURTHER}" for name in _THREADS}
        changed |= {name: f"{name} + ({_FURTHER} << 24)" for name in _PROCESSES}
        changed |= {name: f"{name} + {_FURTHER}" for name in _PIDS}
        changed |= {
            name: f"{name} + {most + 1}" for name in ("deviceId", "srcDeviceId", "dstDeviceId", "cudaId", "gpuId")
        }
        if table == "TARGET_INFO_GPU":
            changed["id"] = f"id + {most + 1}"
        _append_rows(database, table, changed)


MEANS_THE_SAME: dict[str, Change] = {
    **sqlite_changes.MEANS_THE_SAME,
    "columns of all versions": add_columns_of_versions,
    "ids of texts": renumber_strings,
    "texts twice": repeat_strings,
    "correlation ids": renumber_correlations,
    "processes and threads": renumber_processes,
    "a year later by the calendar": move_epoch,
    "texts in rows": inline_texts,
    "texts in StringIds": refer_to_texts,
}
"""Changes after which a report says the same."""

MOVED: dict[str, tuple[Change, int]] = {
    "a day later": (move_times(DAY_NS), DAY_NS),
    "before zero": (move_times(-DAY_NS), -DAY_NS),
}
"""Changes that move all times, and by how many ns."""


AMOUNTS: dict[str, Change] = {
    "twice as long": scale_times,
    "once more, later": double,
    "a process without a GPU": add_host_process,
    "a process with a GPU": add_gpu_process,
}
"""Changes that make what is counted or measured more, by name; test_amounts.py says of what, and how much."""
