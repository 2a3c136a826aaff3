"""The project's SQL files: read, found by name, run."""

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
    """The text of the SQL file `name`, a path below traceq/, e.g. "analysis/launches/launch.sql"."""
    return resources.files("traceq").joinpath(name).read_text("utf-8")


@cache
def shelved(folder: str) -> dict[str, str]:
    """The SQL files in the folders of `folder`: name without suffix to path below traceq/. Names are unique."""
    places = [place for place in resources.files("traceq").joinpath(folder).iterdir() if place.is_dir()]
    return {
        file.name.removesuffix(".sql"): f"{folder}/{place.name}/{file.name}"
        for place in places
        for file in place.iterdir()
        if file.name.endswith(".sql")
    }


def run(connection: duckdb.DuckDBPyConnection, name: str, **parameters: object) -> None:
    """Run every statement of the SQL file `name`; each gets those of `parameters` that it names."""
    if name not in _parsed:
        _parsed[name] = connection.extract_statements(statement(name))
    for each in _parsed[name]:
        given = {key: value for key, value in parameters.items() if key in each.named_parameters}
        connection.execute(each, given or None)
