from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest
from builder import TraceBuilder


def made_up() -> TraceBuilder:
    """Two steps, two GPUs, a gap of several causes, host slices in one another, a fetch, a copy, communication."""
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#0", 0, 100)
    trace.op("aten::mm", 5, 30)
    trace.kernel("gemm", 20, 30, launched=(10, 5))
    trace.kernel("gemm", 25, 40, launched=(16, 5), device=1)
    trace.memcpy("h2d", 40, 20, launched=(30, 4), bytes=64)
    trace.annotation("ProfilerStep#1", 100, 100)
    trace.op("aten::relu", 110, 40)
    trace.call("cudaDeviceSynchronize", 112, 20)
    trace.kernel("relu", 150, 20, launched=(135, 5))
    trace.kernel("relu", 160, 20, launched=(142, 5), device=1)
    trace.annotation("traceq.fetch#train", 101, 8)
    trace.kernel("ncclDevKernel_AllReduce", 170, 20, launched=(148, 1), device=1, stream=9)
    return trace


@pytest.fixture(scope="session")
def whole(tmp_path_factory) -> Path:
    """The database of the made-up trace."""
    folder = tmp_path_factory.mktemp("whole")
    made_up().build(folder)._connection.close()
    return folder / "trace.duckdb"


@pytest.fixture(scope="session")
def writable(whole, tmp_path_factory):
    path = tmp_path_factory.mktemp("writable") / "trace.duckdb"
    shutil.copy(whole, path)
    with duckdb.connect(str(path)) as connection:
        yield connection


@pytest.fixture
def changed(writable):
    """The database after the given statements, which are undone when the test ends."""

    def change(statements: str) -> duckdb.DuckDBPyConnection:
        writable.execute(statements)
        return writable

    writable.begin()
    yield change
    writable.rollback()
