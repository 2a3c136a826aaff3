"""Reads, finds and runs the package's SQL files."""

from __future__ import annotations

import atexit
import re
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb

_TABLE = re.compile(r"create table if not exists (\w+)\s*\((.*?)\);", re.DOTALL)
_COMMENT = re.compile("--.*")
_COLUMN = re.compile(r"^\s*(\w+) (.+?),?\s*$", re.MULTILINE)


@cache
def package() -> Path:
    """Return the folder of the package traceq."""
    return Path(__file__).parents[1]


@cache
def statement(name: str) -> str:
    """Return the text of the SQL file `name`, a path below traceq/, e.g. "analysis/launches/launch.sql"."""
    return package().joinpath(name).read_text("utf-8")


@cache
def read_columns(files: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Return how these SQL files of the schema define the columns of tables: by table and name, the type and what follows it.

    DuckDB takes 25 ms to list the columns of a database. Of a column that is computed from others, "generated" follows.
    """
    tables = [table for file in files for table in _TABLE.findall(_COMMENT.sub("", statement(file)))]
    return {table: dict(_COLUMN.findall(text)) for table, text in tables}


@cache
def shelved(folder: str) -> dict[str, str]:
    """Return the SQL files one level below `folder`: name without suffix to path below traceq/. Names are unique."""
    places = [place for place in package().joinpath(folder).iterdir() if place.is_dir()]
    return {
        file.name.removesuffix(".sql"): f"{folder}/{place.name}/{file.name}"
        for place in places
        for file in place.iterdir()
        if file.name.endswith(".sql")
    }


def run(connection: duckdb.DuckDBPyConnection, name: str, **parameters: object) -> duckdb.DuckDBPyConnection:
    """Run every statement of the SQL file `name`, with those `parameters` that the statement names; return the last result."""
    return execute(connection, statement(name), parameters)


def execute(
    connection: duckdb.DuckDBPyConnection, text: str, parameters: Mapping[str, object]
) -> duckdb.DuckDBPyConnection:
    """Run every statement of the SQL `text`, with those `parameters` that the statement names; return the last result."""
    for part in parse(text):
        given = {key: value for key, value in parameters.items() if key in part.named_parameters}
        connection.execute(part, given or None)
    return connection


def relation(connection: duckdb.DuckDBPyConnection, text: str, **parameters: object) -> duckdb.DuckDBPyRelation:
    """Return the query `text` as a relation, which computes its rows when they are read; as Arrow they are not copied."""
    (query,) = parse(text)
    return connection.sql(query, params=parameters or None)


@lru_cache(maxsize=4096)
def parse(text: str) -> Sequence[duckdb.Statement]:
    """Parse the SQL `text` into statements; results are cached, because parsing can take as long as planning."""
    import duckdb

    return duckdb.extract_statements(text)


# DuckDB complains on stderr of statements that live until the interpreter ends.
atexit.register(parse.cache_clear)
