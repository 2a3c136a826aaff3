"""Workers of a dask.distributed scheduler, wherever they are: Slurm, Kubernetes, machines that were started by hand."""

from __future__ import annotations

import logging
import os
import sys
import time
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from typing import Any

import duckdb
from msgspec.structs import replace

from traceq.common.code_hash import code_hash
from traceq.common.extras import install_command
from traceq.common.limits import LEAST_OF_READING, Share, limits
from traceq.common.units import some
from traceq.common.version import __version__
from traceq.database.connect import SCHEMA_VERSION
from traceq.dataset.lock import read_token
from traceq.dataset.piece import PieceTask
from traceq.dataset.place import Place
from traceq.dataset.runner import WorkerDied, WorkersLost
from traceq.errors import MissingTool, StoreError, TraceqError

# Seconds: until a scheduler answers; until one of the workers is there, which batch systems may have to start first.
_ANSWERS, _ARRIVES = 15.0, 300.0

# Seconds that what is known of the workers is taken for true.
_KNOWN = 2.0

# DuckDB's share of a worker's memory: beyond 80 % of it Dask gives the worker nothing to do, beyond 95 % it ends it.
_OF_WORKER = 0.5

# The rooms that what is in a piece depends on.
_ROOMS = ("analysis", "database", "dataset", "formats", "importers", "loading")

# Bytes, where a worker has no limit.
_USUAL_MEMORY = 1 << 30

# So many workers are named in an error.
_NAMED = 3


def collect_versions() -> dict[str, str]:
    """Return the versions, by name, that must be equal in all processes that make pieces of one dataset."""
    return {
        "Python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "traceq": __version__,
        "schema": str(SCHEMA_VERSION),
        "duckdb": duckdb.__version__,
        "code of traceq": code_hash(*_ROOMS)[:12],
    }


@contextmanager
def connect_cluster(address: str) -> Iterator[Cluster]:
    """Yield the cluster of the scheduler at an address, or named in a scheduler file (.json).

    Raises StoreError where it cannot be reached, MissingTool without dask.distributed.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingTool(f"--cluster needs dask.distributed: {install_command('cluster')}") from error
    where = {"scheduler_file": address} if address.endswith(".json") else {"address": address}
    try:
        client = Client(  # type: ignore[no-untyped-call]
            **where, timeout=_ANSWERS, set_as_default=False, name="traceq"
        )
    except (OSError, TimeoutError, ValueError) as error:
        raise StoreError(
            f"--cluster {address}: no scheduler of dask.distributed answers there: {error}; start one with `dask scheduler`"
        ) from error
    # What it tells in a page when the scheduler is gone is told in one line.
    logger = logging.getLogger("distributed.client")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with client:
            yield Cluster(client, address)
    finally:
        logger.setLevel(before)


class Cluster:
    """Workers of a dask.distributed scheduler. Each thread of a worker makes one piece at a time."""

    def __init__(self, client: Any, address: str) -> None:
        self._client = client
        self._address = address
        self._executor = client.get_executor(pure=False)
        self._mine = collect_versions()
        self._seen: dict[str, int] = {}
        self._looked = self._arrived = 0.0

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        """Return the future of a call of the function on a worker of the cluster."""
        known: Future[Any] = Future()
        future = self._executor.submit(call_on_worker, self._mine, function, *arguments)
        future.add_done_callback(lambda done: _pass_on(done, known, self._address))
        # Dask makes a result again whose worker dies, as long as somebody holds its future: nobody does when it is passed on.
        asked = weakref.ref(future)
        known.add_done_callback(lambda given: _cancel(asked()) if given.cancelled() else None)
        return known

    def count_slots(self) -> int:
        """Return the number of threads of all workers of the cluster."""
        return sum(self._count_threads().values())

    def plan_share(self, _pieces: int) -> Share:
        """Return the limits of a call: one thread, and its part of the smallest worker's memory limit, or of --memory-limit."""
        shares = []
        for worker in self._client.scheduler_info(n_workers=-1)["workers"].values():
            known = [limit for limit in (worker["memory_limit"] * _OF_WORKER, limits().memory) if limit]
            shares.append(min(known, default=_USUAL_MEMORY) / worker["nthreads"])
        memory = max(LEAST_OF_READING, int(min(shares, default=_USUAL_MEMORY)))
        return Share(self.count_slots(), jobs=1, threads=1, memory=memory)

    def prepare(self, tasks: Sequence[PieceTask]) -> None:
        """Wait for a worker; raise WorkersLost if none comes.

        Raises StoreError unless all workers have the same versions as this process, and access to the dataset and the
        traces.
        """
        try:
            self._client.wait_for_workers(1, timeout=_ARRIVES)
        except TimeoutError as error:
            raise WorkersLost(self._explain_no_worker()) from error
        place, source = tasks[0].place, tasks[0].build.source.path
        mine, seen = read_token(place), os.fspath(source)
        differ = defaultdict(list)
        for worker, found in self._client.run(collect_facts, place, seen, on_error="return").items():
            for reason in _explain_unfit(found, self._mine, mine, place, seen):
                differ[reason].append(worker)
        if differ:
            raise StoreError(
                f"--cluster {self._address}: "
                + "; ".join(f"{why} ({_list_workers(who)})" for why, who in differ.items())
            )

    def check(self) -> None:
        """Raise WorkersLost when the cluster has had no workers for five minutes."""
        if self.count_slots():
            self._arrived = time.monotonic()
        elif time.monotonic() - self._arrived > _ARRIVES:
            raise WorkersLost(self._explain_no_worker())

    def _count_threads(self) -> dict[str, int]:
        """Return the number of threads of each worker, by its address; asked at most every two seconds.

        Raises WorkersLost if the scheduler is gone.
        """
        now = time.monotonic()
        if now - self._looked > _KNOWN:
            try:
                self._seen = self._client.nthreads()
            except (OSError, TimeoutError) as error:
                raise WorkersLost(_explain_gone(self._address, str(error))) from error
            self._looked = now
            self._arrived = now if self._seen else self._arrived
        return self._seen

    def _explain_no_worker(self) -> str:
        """Return the message that the scheduler has had no worker for long."""
        return (
            f"--cluster {self._address}: for {_ARRIVES:.0f} s the scheduler has had no worker; start some with `dask worker`,"
            " then run this again: what is made already is kept"
        )


def call_on_worker(wanted: dict[str, str], function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the function's result, called on a worker; return WorkersLost if versions here differ from `wanted`.

    A TraceqError is returned, not raised: the user sees it, and the worker's log need not.
    """
    if wrong := _list_differences(wanted, collect_versions()):
        return WorkersLost(f"a worker that came later differs: {wrong}")
    try:
        return function(*map(_with_room, arguments))
    except TraceqError as error:
        return error


def _with_room(argument: Any) -> Any:
    """Return a piece's task with the worker's folder for temporary files, which Dask removes; other arguments unchanged."""
    from distributed import get_worker

    return replace(argument, room=get_worker().local_directory) if isinstance(argument, PieceTask) else argument


def collect_facts(place: Place, source: str) -> dict[str, Any]:
    """Return what a worker sees: its versions, the token of the dataset's writer, and whether it can read the trace.

    In place of the token there is an error's text if the dataset is unreadable. `source` is the path of the trace.
    """
    try:
        found = read_token(place)
    except (StoreError, ImportError) as error:
        found = str(error)
    return {"versions": collect_versions(), "token": found, "source": os.access(source, os.R_OK)}


def _explain_unfit(found: Any, mine: dict[str, str], written: str | None, place: Place, source: str) -> Iterator[str]:
    """Yield the reasons why a worker cannot be used; `found` are the facts of collect_facts there, or its error.

    `mine` are the versions here, `written` is the token of the dataset's writer.
    """
    if isinstance(found, BaseException):
        yield f"there is no such traceq on workers: {type(found).__name__}: {found}; install traceq {__version__} there"
        return
    if wrong := _list_differences(mine, found["versions"]):
        yield f"workers differ: {wrong}; install the same versions on both sides"
    if found["token"] != written:
        yield f"workers do not see the dataset {place.name}: name a folder that all machines share, or an object store"
    if not found["source"]:
        yield f"workers cannot read {source}: traces have to lie where all machines see them"


def _list_differences(mine: dict[str, str], found: dict[str, str]) -> str:
    """Return the versions that differ, as text: "Python 3.11 there, 3.12 here"; empty if none does."""
    return ", ".join(
        f"{what} {found.get(what)} there, {own} here" for what, own in mine.items() if own != found.get(what)
    )


def _list_workers(workers: Sequence[str]) -> str:
    """Return the number of workers and the addresses of a few, as text."""
    more = f" and {len(workers) - _NAMED:,} more" if len(workers) > _NAMED else ""
    return f"{some(len(workers), 'worker')}: {', '.join(workers[:_NAMED])}{more}"


def _cancel(future: Future[Any] | None) -> None:
    """Cancel the future, if it still exists."""
    if future is not None:
        future.cancel()


def _pass_on(done: Future[Any], known: Future[Any], address: str) -> None:
    """Copy the outcome of Dask's future `done` to the future `known`, with the errors that Workers promises."""
    from distributed.scheduler import KilledWorker

    if known.cancelled():
        return
    try:
        result = done.result()
        if isinstance(result, TraceqError):
            known.set_exception(result)
        else:
            known.set_result(result)
    except CancelledError as error:
        known.set_exception(WorkersLost(_explain_gone(address, str(error))))
    except KilledWorker as error:
        known.set_exception(WorkerDied(f"{error.allowed_failures + 1} workers, one after the other"))
    except Exception as error:  # noqa: BLE001 - whoever waits for it raises it
        known.set_exception(error)


def _explain_gone(address: str, why: str) -> str:
    """Return the message that the scheduler is gone; `why` is the reason, or empty."""
    return (
        f"--cluster {address}: the scheduler is gone{f' ({why})' if why else ''}; run this again when there is one:"
        " what is made already is kept"
    )
