"""Waiting for input, and the fetches of data loaders."""

from __future__ import annotations

import msgspec


class DataStall(msgspec.Struct, frozen=True):
    """Fetching of input: how long the training thread waits, and how much of it leaves the GPU idle; ns."""

    steps: int
    data_wait_ns: int | None
    data_stall_ns: int | None
    idle_data_ns: int | None
    input_copy_ns: int | None
    hidden_ns: int | None
    fetches: int | None
    longest_fetch_ns: int | None
    first_fetch_ns: int | None
    waiting_ns: int | None
    reading_ns: int | None
    transform_ns: int | None
    python_ns: int | None
    calls_ns: int | None
    unexplained_ns: int | None
    workers: int | None
    worker_busy_share: float | None


class LoaderFetches(msgspec.Struct, frozen=True):
    """The fetches from one data loader."""

    loader: str
    loader_kind: str | None
    fetches: int
    dur_ns: int
    median_ns: float
    longest_ns: int
    stalled_ns: int | None


class Data(msgspec.Struct, frozen=True):
    """Fetching of input; `loaders` are the --top slowest."""

    stall: DataStall
    loaders: tuple[LoaderFetches, ...]
