"""The project's SQL, one idea a file, and the two functions that read and run it."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

# Parsing takes as long as planning where there are few rows, and statements outlive the connection that parsed them.
_parsed: dict[str, list[duckdb.Statement]] = {}


@cache
def statement(name: str) -> str:
    """The text of the SQL file `name`, e.g. "ingest/launch.sql"."""
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def run(connection: duckdb.DuckDBPyConnection, name: str, **parameters: object) -> None:
    """Run every statement of the SQL file `name`; each gets those of `parameters` that it names."""
    if name not in _parsed:
        _parsed[name] = connection.extract_statements(statement(name))
    for each in _parsed[name]:
        given = {key: value for key, value in parameters.items() if key in each.named_parameters}
        connection.execute(each, given or None)
