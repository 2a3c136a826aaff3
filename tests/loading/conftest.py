from __future__ import annotations

import shutil

import pytest
from small_traces import trace_file

from traceq.analysis import order
from traceq.loading.ingest import ingest


@pytest.fixture(autouse=True)
def few_analyses(monkeypatch):
    """How traces are stored does not depend on what is worked out from them, which takes most of the time."""
    monkeypatch.setattr(order, "TOPICS", (order.Topic(None, ("step_stats", "way", "missing_input")),))


@pytest.fixture(scope="session")
def made_once(tmp_path_factory):
    """A database of one trace; tests take copies."""
    folder = tmp_path_factory.mktemp("made_once")
    ingest([trace_file(folder / "first.json")], folder / "t.duckdb")
    return folder / "t.duckdb"


@pytest.fixture
def database(made_once, tmp_path):
    """A database of one trace, alone in its folder."""
    folder = tmp_path / "databases"
    folder.mkdir()
    return shutil.copyfile(made_once, folder / "t.duckdb")


@pytest.fixture
def source(tmp_path):
    """A trace that `database` does not hold."""
    return trace_file(tmp_path / "sources" / "second.json", rank=1)
