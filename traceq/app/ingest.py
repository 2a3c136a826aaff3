"""Ingest: trace files become a trace database, judged."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from traceq.app.pipeline import make_database
from traceq.app.source import spare_folders
from traceq.common.limits import limits
from traceq.dataset.ingest import IngestRequest, ingest_dataset
from traceq.dataset.manifest import is_dataset
from traceq.dataset.place import Place, is_address
from traceq.dataset.placement import check_run
from traceq.dataset.runner import InProcess, Processes, Workers
from traceq.errors import WrongUse
from traceq.loading.ingest import Failure, IngestResult, check_offset, check_step_range
from traceq.loading.inspected import list_files_with
from traceq.loading.monitors import MonitorLogs
from traceq.loading.options import AS_FOUND, Paths, TraceOptions
from traceq.loading.sources import capture_sources, find_sources, paths_of


def ingest(
    sources: str | Path | Sequence[str | Path],
    database: str | Path | None = None,
    options: TraceOptions = AS_FOUND,
    *,
    run: str | None = None,
    force: bool = False,
    logs: Sequence[str | Path] = (),
    offset: float | None = None,
    log_formats: Sequence[str | Path] = (),
    cluster: str | None = None,
    wait: float = 0,
    failed: Callable[[Failure], None] = lambda _failure: None,
) -> IngestResult:
    """Read traces into one trace database or dataset, beside what it holds already, and run the rules.

    traceq.app.api.ingest explains the parameters. When a source of a database fails, raises a TraceqError and leaves it
    unchanged; when rules cannot run, the result's `not_judged` says why.
    """
    if database is not None and not is_address(database):
        spare_folders([Path(database)], logs)
    logs = list_files_with(logs)
    beside = MonitorLogs(tuple(logs), offset, tuple(map(Path, log_formats)))
    if database is not None and _is_of_dataset(database):
        asked = IngestRequest(
            run=run,
            choice=options.choice,
            captures=capture_sources(_make_absolute(options.capture)),
            inductor=_make_absolute(options.inductor),
            beside=MonitorLogs(
                tuple(map(Path, _make_absolute(logs))), offset, tuple(map(Path, _make_absolute(log_formats)))
            ),
            force=force,
            wait=wait,
            failed=failed,
        )
        return _into_dataset(sources, str(database), asked, cluster)
    if cluster is not None or wait:
        raise WrongUse("--cluster and --wait are for datasets: name one that ends in a slash, -o job/")
    return make_database(sources, database, options, run=run, force=force, beside=beside)


def _is_of_dataset(target: str | Path) -> bool:
    """Return whether `target` is a dataset: it ends in a slash, is an address, or exists as one."""
    return str(target).endswith("/") or is_address(target) or is_dataset(target)


def _into_dataset(sources: Paths, target: str, asked: IngestRequest, cluster: str | None) -> IngestResult:
    """Add the traces to the dataset `target`, by processes or by the workers of the scheduler at `cluster`."""
    if not is_address(target) and Path(target).is_file():
        file = target.rstrip("/")
        raise WrongUse(
            f"{file} is a file, and a dataset is a folder: name another, or leave out the slash for a database."
        )
    if asked.run is not None:
        check_run(asked.run)
    check_step_range(asked.choice.step_range)
    found = find_sources(_make_absolute(sources))
    check_offset(asked.beside, found)
    place = Place(target)
    with _make_workers(place, len(found), cluster) as workers:
        return ingest_dataset(found, place, asked, workers)


def _make_workers(place: Place, traces: int, address: str | None) -> AbstractContextManager[Workers]:
    """Return the workers that make the pieces: those of the scheduler at `address`, else processes of this machine.

    A dataset in memory has this process as its only worker; raises WrongUse if more are asked for.
    """
    jobs = limits().share(traces).processes
    if place.is_of_process:
        if jobs > 1 or address is not None:
            raise WrongUse(f"{place.name} cannot be shared between processes; use --jobs 1 or a directory")
        return InProcess()
    if address is None:
        return Processes(jobs)
    from traceq.dataset.cluster import connect_cluster

    return connect_cluster(address)


def _make_absolute(paths: Paths) -> tuple[str, ...]:
    """Return the paths as absolute ones, for processes in other folders."""
    return tuple(os.path.abspath(each) for each in paths_of(paths))  # noqa: PTH100 - Path.absolute keeps ..
