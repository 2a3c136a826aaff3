"""RPD and rocpd databases changed in a way that means the same, or whose effect on every report is known."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import rocm_files
import sqlite_changes
from sqlite_changes import Change, list_columns, update_columns

DAY_NS = 86_400 * 10**9

_TIMES = ("start", "end")
_STRING_IDS = ("description_id", "opType_id", "apiName_id", "args_id", "kernelName_id", "name_id", "category_id")
_CALLS = ("api_id", "api_ptr_id", "stack_id")
# RPD numbers the tool's own calls from here on.
_OWN_CALLS = 1 << 31


def _tables_of(database: sqlite3.Connection, *names: str) -> list[str]:
    """Return the tables of these names, which end in a UUID in rocpd's files."""
    return [table for table in list_columns(database) if table.startswith(names)]


def renumber_strings(database: sqlite3.Connection) -> None:
    """Give texts other ids, in another order."""
    update_columns(database, _STRING_IDS, "1000000 - {}")
    for table in _tables_of(database, "rocpd_string"):
        database.execute(f'update "{table}" set id = 1000000 - id')


def repeat_strings(database: sqlite3.Connection) -> None:
    """Give every text a second id, which every second row of a table refers to."""
    for table in _tables_of(database, "rocpd_string"):
        columns = ", ".join(name for name in list_columns(database)[table] if name != "id")
        database.execute(f'insert into "{table}" (id, {columns}) select id + 2000000, {columns} from "{table}"')
    update_columns(database, _STRING_IDS, "{} + 2000000 * (rowid % 2)")


def renumber_calls(database: sqlite3.Connection) -> None:
    """Give calls, and what they cause, other ids, in the same order."""
    update_columns(database, _CALLS, f"{{0}} + 5000 * ({{0}} between 1 and {_OWN_CALLS - 5001})")
    for table in _tables_of(database, "rocpd_api"):
        if table == "rocpd_api":
            database.execute(f"update {table} set id = -id - 5000 where id < {_OWN_CALLS}")
            database.execute(f"update {table} set id = -id where id < 0")


def renumber_processes(database: sqlite3.Connection) -> None:
    """Give processes and threads other numbers; rows of rocpd refer to them by ids of their own."""
    for name, column in (
        ("rocpd_api", "pid"),
        ("rocpd_api", "tid"),
        ("rocpd_info_process", "pid"),
        ("rocpd_info_thread", "tid"),
    ):
        for table in _tables_of(database, name):
            if column in list_columns(database)[table]:
                database.execute(f'update "{table}" set {column} = {column} + 1000')


def rename_suffixes(database: sqlite3.Connection) -> None:
    """Give the tables of a process another UUID."""
    for table in list_columns(database):
        if "_0000a1b2" in table:
            database.execute(f'alter table "{table}" rename to "{table.replace("_0000a1b2", "_0000ffff")}"')


def move_times(by: int) -> Change:
    """Return a change that moves all events by `by` ns."""

    def moved(database: sqlite3.Connection) -> None:
        update_columns(database, _TIMES, f"{{}} + {by}")

    return moved


def scale_times(database: sqlite3.Connection) -> None:
    """Let everything take twice as long, counted from the machine's start."""
    update_columns(database, _TIMES, "2 * {}")


def _append_rows(database: sqlite3.Connection, table: str, changed: dict[str, str]) -> None:
    """Add copies of the rows to the table, with these columns as SQL expressions instead."""
    columns = list_columns(database)[table]
    picked = ", ".join(changed.get(name, f'"{name}"') for name in columns)
    named = ", ".join(f'"{name}"' for name in columns)
    database.execute(f'insert into "{table}" ({named}) select {picked} from "{table}"')


_FURTHER_IDS = {name: f"{name} + 1000000" for name in ("id", "api_id", "op_id", "api_ptr_id")}
_TABLES_OF_CALLS = ("rocpd_op", "rocpd_api", "rocpd_api_ops", "rocpd_kernelapi", "rocpd_copyapi")


def _append_calls(database: sqlite3.Connection, changed: dict[str, str]) -> None:
    """Add RPD's operations and calls once more, with ids of their own, and these columns changed."""
    for table in _TABLES_OF_CALLS:
        _append_rows(database, table, _FURTHER_IDS | changed)


def double(database: sqlite3.Connection) -> None:
    """Add RPD's capture once more, later in time."""
    query = 'select max("end") - min("start") + 1000000 from (select * from {} union all select * from {})'
    parts = [f'(select "start", "end" from {table})' for table in ("rocpd_op", "rocpd_api")]
    ((later,),) = database.execute(query.format(*parts)).fetchall()
    _append_calls(database, {name: f'"{name}" + {later}' for name in _TIMES})


def add_host_process(database: sqlite3.Connection) -> None:
    """Add a process that has ranges and no GPU, during the whole capture."""
    database.execute("insert into rocpd_string (id, string) values (900001, 'UserMarker'), (900002, 'serve a request')")
    database.execute(
        """
        insert into rocpd_api (id, pid, tid, start, "end", apiName_id, args_id)
        select id + 1000000, 990001, 990001, start + 10, "end" - 10, 900001, 900002 from rocpd_api
        where "end" > start + 1000 and id < 2147483648 limit 5
        """
    )


def add_gpu_process(database: sqlite3.Connection) -> None:
    """Add a second process with a GPU of its own that does the same at the same time."""
    ((most,),) = database.execute("select max(gpuId) from rocpd_op").fetchall()
    numbers = {"pid": "pid + 1000", "tid": "tid + 1000", "gpuId": f"gpuId + {most + 1}"}
    _append_calls(database, numbers)


MEANS_THE_SAME: dict[str, Change] = {
    **sqlite_changes.MEANS_THE_SAME,
    "ids of texts": renumber_strings,
    "texts twice": repeat_strings,
    "ids of calls": renumber_calls,
    "processes and threads": renumber_processes,
    "names of tables": rename_suffixes,
}
"""Changes after which a report says the same."""

MOVED: dict[str, tuple[Change, int]] = {
    "a day later": (move_times(DAY_NS), DAY_NS),
}
"""Changes that move all times, and by how many ns; not before zero, as they count from the machine's start."""


AMOUNTS: dict[str, Change] = {
    "twice as long": scale_times,
    "once more, later": double,
    "a process without a GPU": add_host_process,
    "a process with a GPU": add_gpu_process,
}
"""Changes that make what is counted or measured more, by name; test_amounts.py says of what, and how much."""


def write_steps(path: Path) -> Path:
    """Write an RPD database of eight marked steps: batches are copied at once, then kernels are launched and waited for."""
    rocm_files.write_rpd(path)
    with closing(sqlite3.connect(path)) as database:
        database.executescript(_STEPS)
        database.commit()
    return path


_STEPS = """
delete from rocpd_op;
delete from rocpd_api where id < 2147483648;
delete from rocpd_api_ops;
delete from rocpd_copyapi;
delete from rocpd_kernelapi;
insert into rocpd_string values (12, 'hipDeviceSynchronize'), (13, 'relu()'), (14, 'CopyHostToDevice');
create temporary table step as with recursive number(step) as (select 0 union all select step + 1 from number where step < 7)
    select step, 1000000 + step * 900000 + step * step * 1000 as t from number;
create temporary table part as select step as part from step where step < 5;
insert into rocpd_string select 20 + step, 'traceq.step#' || step from step;
insert into rocpd_api select 100 + step, 4711, 4712, t, t + 880000, 9, 20 + step from step;
insert into rocpd_api select 200 + step, 4711, 4712, t + 1000, t + 140000, 7, 1 from step;
insert into rocpd_op select 200 + step, 2, 0, t + 20000, t + 139000, 1, 14 from step;
insert into rocpd_api_ops select 200 + step, 200 + step, 200 + step from step;
insert into rocpd_copyapi select 200 + step, 4194304 from step;
insert into rocpd_api select 300 + 10 * step + part, 4711, 4712, t + 200000 + 40000 * part, t + 206000 + 40000 * part, 2, 1
    from step, part;
insert into rocpd_op select 300 + 10 * step + part, 2, part % 2, t + 215000 + 40000 * part, t + 240000 + 40000 * part,
    iif(part % 2 = 0, 3, 13), 4 from step, part;
insert into rocpd_api_ops select 300 + 10 * step + part, 300 + 10 * step + part, 300 + 10 * step + part from step, part;
insert into rocpd_kernelapi select 300 + 10 * step + part, 1000, 4, 1, 256, 1, 1, 1024 from step, part;
insert into rocpd_api select 400 + step, 4711, 4712, t + 410000, t + 480000, 12, 1 from step;
"""
