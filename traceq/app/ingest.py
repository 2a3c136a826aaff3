"""Ingest: trace files become a trace database, judged."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from traceq.analysis.steps.choice import StepOptions, choice_of
from traceq.app.judge import judge_traces
from traceq.dataset.ingest import Asked, ingest_dataset
from traceq.dataset.manifest import is_dataset
from traceq.dataset.place import Place, is_address
from traceq.dataset.runner import Here, Processes, Workers
from traceq.dataset.runs import check_run
from traceq.errors import WrongUse
from traceq.loading.ingest import Failure, IngestResult, check_offset, check_step_range
from traceq.loading.ingest import ingest as load
from traceq.loading.monitors import Beside
from traceq.loading.progress import Progress, Silent
from traceq.loading.sources import Paths, capture_sources, find_sources, paths_of

if TYPE_CHECKING:
    import duckdb


def ingest(
    sources: str | Path | Sequence[str | Path],
    database: str | Path | None = None,
    *,
    run: str | None = None,
    jobs: int = 1,
    force: bool = False,
    capture: Paths = (),
    inductor: Paths = (),
    memory_limit: int | None = None,
    progress: Progress | None = None,
    logs: Sequence[str | Path] = (),
    offset: float | None = None,
    cluster: str | None = None,
    wait: float = 0,
    failed: Callable[[Failure], None] | None = None,
    **steps: Unpack[StepOptions],
) -> IngestResult:
    """Read trace files, directories or globs into one trace database, beside what it holds already, and run the rules.

    Content that is there (same SHA-256) is skipped, with `force` replaced. `jobs` is the number of processes to use.
    `steps` is what the user says about the steps: `step_range`, a regular expression for the annotations that mark them;
    `steps_per`, how many there are in each unit found (2; 1/2 when two units are one); `window`, what to judge (gpu,
    3.2s..4s, NAME..NAME). `capture` are traces of the same program, of the capture of its CUDA graphs or without them: they give
    the kernels of graphs their operators, shapes, modules and source lines. `inductor` are files or folders that torch.compile
    wrote of its kernels (torch_compile_debug), by default those beside each trace. DuckDB holds at most `memory_limit` bytes in
    all processes together, by default a quarter of the memory at hand. `logs` are logs of monitors that ran beside (nvidia-smi,
    iostat and others, docs/monitors.md): traces that are there already are then read again. `offset` is what to add to
    their times (s), where that cannot be told. What the rules find is in the table finding, and reports
    take it from there. Raises a TraceqError and leaves the database as it was when any source fails; when the
    rules cannot run, the result's `not_judged` says why.

    A `database` that ends in a slash, or is an address, is a dataset (docs/scale.md): it takes what can be read, and the result's
    `failures` are the others, of each of which `failed` is told at once. `cluster` is the address of the scheduler of
    dask.distributed whose workers read the traces; `wait` is how long another one may write the dataset before (s).
    """
    beside = Beside(tuple(map(Path, logs)), offset)
    if database is not None and _is_of_dataset(database):
        asked = Asked(
            run=run,
            memory_limit=memory_limit,
            choice=choice_of(**steps),
            captures=capture_sources(_absolute(capture)),
            inductor=_absolute(inductor),
            beside=Beside(tuple(map(Path, _absolute(logs))), offset),
            force=force,
            wait=wait,
            progress=progress or Silent(),
            failed=failed or (lambda _failure: None),
        )
        return _into_dataset(sources, str(database), asked, jobs, cluster)
    if cluster is not None or wait:
        raise WrongUse("--cluster and --wait are for datasets: name one that ends in a slash, -o job/")
    reasons: list[str] = []

    def judge(connection: duckdb.DuckDBPyConnection) -> None:
        if progress is not None:
            progress.judge()
        reason = judge_traces(connection)
        if reason is not None:
            reasons.append(reason)

    result = load(
        sources,
        database,
        run=run,
        jobs=jobs,
        force=force,
        capture=capture,
        inductor=inductor,
        memory_limit=memory_limit,
        progress=progress,
        complete=judge,
        beside=beside,
        **steps,
    )
    return replace(result, not_judged=reasons[0] if reasons else None)


def _is_of_dataset(target: str | Path) -> bool:
    """Whether a dataset is meant: a folder that ends in a slash, an address, or what is one already."""
    return str(target).endswith("/") or is_address(target) or is_dataset(target)


def _into_dataset(sources: Paths, target: str, asked: Asked, jobs: int, cluster: str | None) -> IngestResult:
    if not is_address(target) and Path(target).is_file():
        file = target.rstrip("/")
        raise WrongUse(
            f"{file} is a file, and a dataset is a folder: name another, or leave out the slash for a database."
        )
    if asked.run is not None:
        check_run(asked.run)
    check_step_range(asked.choice.step_range)
    found = find_sources(_absolute(sources))
    check_offset(asked.beside, found)
    place = Place(target)
    with _workers(place, min(jobs, len(found)), cluster) as workers:
        return ingest_dataset(found, place, asked, workers)


def _workers(place: Place, jobs: int, address: str | None) -> AbstractContextManager[Workers]:
    if place.is_of_process:
        if jobs > 1 or address is not None:
            raise WrongUse(
                f"{place.name}: only the process that writes it sees it, no other would: use one job, or a folder"
            )
        return Here()
    if address is None:
        return Processes(jobs)
    from traceq.dataset.cluster import cluster

    return cluster(address)


def _absolute(paths: Paths) -> tuple[str, ...]:
    """The paths as processes in other folders know them."""
    return tuple(os.path.abspath(each) for each in paths_of(paths))  # noqa: PTH100 - Path.absolute keeps ..
