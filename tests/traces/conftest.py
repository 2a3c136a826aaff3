"""The real traces, ingested; see databases in tests/conftest.py. And the reports on them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest
from trace_files import is_large

if TYPE_CHECKING:
    from traceq.reports.model import Report

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Tests of large traces are slow."""
    for item in items:
        if (
            item.path.is_relative_to(HERE)
            and hasattr(item, "callspec")
            and any(map(is_large, item.callspec.params.values()))
        ):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def reports(databases: Callable[[Path], duckdb.DuckDBPyConnection], shared_file) -> Callable[[Path], Report]:
    """The report on the given trace file."""
    from traceq.reports.build import build

    made: dict[Path, Report] = {}

    def report(path: Path) -> Report:
        if path not in made:
            connection = databases(path)
            file = shared_file(
                f"{path.name}.report", lambda target: target.write_bytes(pickle.dumps(build(connection, 10)))
            )
            made[path] = pickle.loads(file.read_bytes())  # noqa: S301 - written by the lines above
        return made[path]

    return report


@pytest.fixture(scope="session")
def rendered(reports: Callable[[Path], Report]) -> Callable[[Path, str], str]:
    """The text of the report on the given trace file in the given format."""
    from traceq.reports import RENDERERS

    return cache(lambda path, form: RENDERERS[form](reports(path)))
