"""Ingest: trace files become a trace database, judged."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from traceq.analysis.steps.choice import StepOptions, choice_of
from traceq.app.judge import judge_traces
from traceq.dataset.ingest import Asked, ingest_dataset
from traceq.dataset.manifest import is_dataset
from traceq.dataset.place import Place, is_address
from traceq.errors import WrongUse
from traceq.loading.ingest import IngestResult, check_offset, check_step_range
from traceq.loading.ingest import ingest as load
from traceq.loading.monitors import Beside
from traceq.loading.progress import Progress
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
    """
    beside = Beside(tuple(map(Path, logs)), offset)
    if database is not None and _is_of_dataset(database):
        asked = Asked(
            run=run,
            jobs=jobs,
            memory_limit=memory_limit,
            choice=choice_of(**steps),
            captures=capture_sources(capture),
            inductor=tuple(paths_of(inductor)),
            beside=beside,
            force=force,
        )
        return _into_dataset(sources, str(database), asked)
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


def _into_dataset(sources: Paths, target: str, asked: Asked) -> IngestResult:
    check_step_range(asked.choice.step_range)
    found = find_sources(paths_of(sources))
    check_offset(asked.beside, found)
    place = Place(target)
    with _executor(place, min(asked.jobs, len(found))) as executor:
        return ingest_dataset(found, place, asked, executor, lambda _task, _outcome: None)


def _executor(place: Place, jobs: int) -> Executor:
    if not place.is_of_process:
        return ProcessPoolExecutor(jobs, get_context("spawn"))
    if jobs > 1:
        raise WrongUse(
            f"{place.name}: only the process that writes it sees it, no other would: use one job, or a folder"
        )
    return ThreadPoolExecutor(1)
