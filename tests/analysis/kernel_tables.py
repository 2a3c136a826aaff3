"""Kernels and GPUs put straight into the tables, without an ingest, and the analyses of kernels run on them."""

from __future__ import annotations

from typing import Any

import duckdb
from tables import insert_row

from traceq.analysis.order import AnalysisState, run


def add_device(
    connection: duckdb.DuckDBPyConnection, number: int, capability: str | None = None, **columns: Any
) -> None:
    """Insert a GPU, with 100 multiprocessors unless told otherwise."""
    columns = {"compute_capability": capability, "sm_count": 100, "source": "trace", **columns}
    insert_row(connection, "device", device=number, **columns)


def add_kernel(
    connection: duckdb.DuckDBPyConnection,
    slice_id: int,
    on: int = 0,
    grid: int | None = None,
    threads: int | None = None,
    registers: int | None = None,
    shared: int | None = None,
    args: str | None = None,
    **columns: Any,
) -> None:
    """Insert a kernel of 10 ns after the one before it."""
    geometry = {"grid_x": grid, "grid_y": 1, "grid_z": 1, "block_x": threads, "block_y": 1, "block_z": 1}
    rest = {"registers_per_thread": registers, "shared_memory": shared, "args": args}
    place = {"name": "k", "ts": slice_id * 10, "dur": 10, "is_communication": False}
    columns = {**geometry, **rest, **place, **columns}
    insert_row(connection, "gpu_slice", slice_id=slice_id, device=on, kind="kernel", **columns)


def analyse_kernels(connection: duckdb.DuckDBPyConnection, columns: str) -> list[tuple[Any, ...]]:
    """Return these columns of kernel_occupancy, a row per kernel in the order of their ids."""
    run(connection, ("kernel_family", "kernel_occupancy"), AnalysisState(1))
    return connection.execute(f"select {columns} from kernel_occupancy order by slice_id").fetchall()
