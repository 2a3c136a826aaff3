"""Trace databases that are damaged or hostile: rows changed, objects replaced, bytes and blocks damaged."""

from __future__ import annotations

import random
import tempfile
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

import duckdb
from values import INTEGERS, TEXTS, damage_bytes

_FIXTURE = Path(__file__).resolve().parents[2] / "fixtures" / "run" / "kineto_2024_base_after.json.gz"
_ENDLESS = "with recursive n(x) as (select 1 union all select x + 1 from n) select x from n"


@cache
def _make_base() -> bytes:
    """A database, made in a process of its own: this one has no threads of DuckDB when it forks."""
    from multiprocessing import get_context

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.duckdb"
        child = get_context("spawn").Process(target=_make, args=(path,))
        child.start()
        child.join()
        return path.read_bytes()


def _make(path: Path) -> None:
    from traceq.app.ingest import ingest

    ingest([_FIXTURE], path)


def prepare() -> None:
    """Make the base, before this process forks."""
    _make_base()


def mutate_database(rng: random.Random) -> tuple[bytes, str]:
    """The content of a file and the end of its name. Runs DuckDB, so only where nothing is forked after it."""
    content = _make_base()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.duckdb"
        path.write_bytes(content)
        changes = rng.choice((0, 0, 1, 2, 4))
        if changes:
            with closing(duckdb.connect(str(path), config={"threads": 1})) as connection:
                for _ in range(changes):
                    with suppress(duckdb.Error, UnicodeEncodeError):
                        connection.execute(rng.choice(_CHANGES)(connection, rng))
            content = path.read_bytes()
    if not changes or rng.random() < 0.1:
        content = damage_bytes(content, rng)
    return content, ".duckdb"


def _choose_table(connection: duckdb.DuckDBPyConnection, rng: random.Random) -> tuple[str, list[tuple[str, str]]]:
    rows = connection.execute(
        "select table_name, list((column_name, data_type)) from duckdb_columns() join duckdb_tables() using (table_name)"
        " where not duckdb_columns.internal group by all order by all"
    ).fetchall()
    table, columns = rng.choice(rows)
    return table, columns


def _update(connection: duckdb.DuckDBPyConnection, rng: random.Random) -> str:
    table, columns = _choose_table(connection, rng)
    column, kind = rng.choice(columns)
    value = rng.choice(
        ("null", str(rng.choice(INTEGERS)), "'nan'", "'inf'", _quote_literal(rng.choice(TEXTS)[:100]), "-1", "0")
    )
    where = rng.choice(("true", "rowid % 3 = 0", "rowid = 0"))
    return f'update "{table}" set "{column}" = try_cast({value} as {kind}) where {where}'


def _quote_literal(text: str) -> str:
    return "'" + text.replace("'", "''").replace("\x00", "") + "'"


def _delete(connection: duckdb.DuckDBPyConnection, rng: random.Random) -> str:
    table, _ = _choose_table(connection, rng)
    return f'delete from "{table}" where rowid % {rng.choice((1, 2, 5))} = 0'


def _double_rows(connection: duckdb.DuckDBPyConnection, rng: random.Random) -> str:
    table, _ = _choose_table(connection, rng)
    return f'insert into "{table}" select * from "{table}" limit 1000'


def _drop(connection: duckdb.DuckDBPyConnection, rng: random.Random) -> str:
    table, columns = _choose_table(connection, rng)
    if rng.random() < 0.5:
        return f'drop table "{table}" cascade'
    return f'alter table "{table}" drop column "{rng.choice(columns)[0]}"'


def _change_version(_connection: duckdb.DuckDBPyConnection, rng: random.Random) -> str:
    return f"update traceq_schema set version = {rng.choice(('null', '0', '-1', '4', '2147483647', '6'))}"


def _change_macro(_connection: duckdb.DuckDBPyConnection, rng: random.Random) -> str:
    return rng.choice(
        (
            "create or replace macro rank_of(x) as x",
            "create or replace macro abs(x) as error('called')",
            "create or replace macro count(x) as 0",
            "create or replace macro list_sum(x) as error('called')",
            "create or replace view step_stats as select 1 as step",
            f"create or replace view finding as {_ENDLESS}",
            "create or replace view idle_cause as select * from read_text('/etc/passwd')",
        )
    )


_CHANGES = (_update, _update, _update, _update, _delete, _double_rows, _drop, _change_version, _change_macro)
