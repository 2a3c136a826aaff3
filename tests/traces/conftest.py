"""Databases of the real traces: each file is ingested once a session, when a test first asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

if TYPE_CHECKING:
    from traceq.reports.report import Report

Databases = Callable[[Path], duckdb.DuckDBPyConnection]


@pytest.fixture(scope="session")
def databases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Databases]:
    """A read-only connection to the database of the given trace file."""
    from traceq import store

    folder = tmp_path_factory.mktemp("databases")
    opened: dict[Path, duckdb.DuckDBPyConnection] = {}

    def database(path: Path) -> duckdb.DuckDBPyConnection:
        if path not in opened:
            target = folder / f"{path.name}.duckdb"
            store.ingest([path], target)
            opened[path] = store.connect(target)
        return opened[path]

    yield database
    for connection in opened.values():
        connection.close()


@pytest.fixture(scope="session")
def reports(databases: Databases) -> Callable[[Path], Report]:
    """The report on the given trace file."""
    from traceq.reports.build import build

    made: dict[Path, Report] = {}

    def report(path: Path) -> Report:
        if path not in made:
            made[path] = build(databases(path), 10)
        return made[path]

    return report
