"""Ingest into a dataset: each trace becomes a piece, wherever workers make it; then their windows are worked out anew."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from traceq.analysis.steps.choice import Choice
from traceq.common.code_hash import code_hash
from traceq.common.limits import limits
from traceq.common.process import usable_cpus
from traceq.dataset.jobs import fill_window
from traceq.dataset.lock import lock_for_writing
from traceq.dataset.manifest import DatasetWindow, Manifest, Piece, adopt_numbering, commit, read_manifest
from traceq.dataset.piece import MadePiece, PieceTask, find_made_piece
from traceq.dataset.place import Place, folder_of
from traceq.dataset.placement import PlacedPiece, place_pieces
from traceq.dataset.runner import Workers, run_all
from traceq.importers.training_logs import list_format_files
from traceq.loading.annotated_nodes import AnnotationFile
from traceq.loading.build import Task
from traceq.loading.inductor import inductor_files
from traceq.loading.ingest import Failure, IngestedTrace, IngestResult
from traceq.loading.monitors import MonitorLogs
from traceq.loading.sources import Source, content_hash

# Pieces that are made, until it is known in which window they are.
STAGING = ".pieces"

# The rooms that what is in a piece depends on.
_ROOMS = ("analysis", "database", "formats", "importers", "loading")


class IngestRequest(msgspec.Struct, frozen=True):
    """The options of an ingest into a dataset, without its sources.

    `wait` is how many seconds to wait for another writer; `failed` is called with each trace that cannot be added.
    """

    run: str | None
    choice: Choice
    captures: tuple[Source | AnnotationFile, ...]
    inductor: tuple[str | Path, ...]
    beside: MonitorLogs
    force: bool
    wait: float = 0
    failed: Callable[[Failure], None] = lambda _failure: None


def ingest_dataset(sources: Sequence[Source], place: Place, asked: IngestRequest, workers: Workers) -> IngestResult:
    """Add the traces to the dataset, which is created if needed. Pieces that were made count even when others fail.

    Raises StoreError when another process writes the dataset.
    """
    with lock_for_writing(place, asked.wait) as check:
        known = read_manifest(place)
        new, skipped = _split(sources, known, force=asked.force)
        if new:  # said before the traces are read; some of them may fail, and keep their former pieces
            adopt_numbering(place, known, [piece for piece in known.pieces if piece.sha256 not in new])
        tasks = _plan_tasks(new, known, place, asked, workers)
        before = place.at_once(find_made_piece, tasks)
        done = {task.folder: made for task, made in zip(tasks, before, strict=True) if made is not None}
        missing = [task for task in tasks if task.folder not in done]
        failures = _make(missing, done, asked, workers)
        if missing:
            for name in place.list_names(STAGING):
                if "." in name:  # what workers that died have left
                    place.remove(STAGING, name)
        finished = [task for task in tasks if task.folder in done]
        if not finished:
            return IngestResult(place.name, (), tuple(skipped), failures=tuple(failures))
        moved = _add(place, known, finished, done, asked, check)
        if not place.list_names(STAGING):
            place.remove(STAGING)
    ingested = tuple(_ingested_trace(task, done[task.folder]) for task in finished)
    resumed = len(tasks) - len(missing)
    return IngestResult(place.name, ingested, tuple(skipped), failures=tuple(failures), resumed=resumed, moved=moved)


def _make(
    tasks: Sequence[PieceTask], done: dict[str, MadePiece], asked: IngestRequest, workers: Workers
) -> list[Failure]:
    """Make the pieces, add their records to `done` by folder, report the progress, and return the traces that failed."""
    if not tasks:
        return []
    workers.prepare(tasks)
    sizes = {task.folder: task.build.source.size for task in tasks}
    failures: list[Failure] = []
    ended = 0
    progress = limits().progress
    progress.start(sum(sizes.values()))
    try:
        for number, (task, outcome) in enumerate(run_all(tasks, workers), 1):
            if isinstance(outcome, Failure):
                failures.append(outcome)
                asked.failed(outcome)
            else:
                done[task.folder] = outcome
            ended += sizes[task.folder]
            progress.pieces(number, len(tasks), ended)
    finally:
        progress.finish()
    return failures


def _ingested_trace(task: PieceTask, made: MadePiece) -> IngestedTrace:
    """Return the trace as the result of the ingest lists it, with its numbers of slices and notes."""
    counts = (made.tables.get(table, 0) for table in ("cpu_slice", "gpu_slice", "import_note"))
    return IngestedTrace(task.build.source.shown, made.trace_id, *counts)


def _split(sources: Sequence[Source], known: Manifest, *, force: bool) -> tuple[dict[str, Source], list[Path]]:
    """Return the sources to add, by hash, and the paths to skip: given twice, or in the dataset already (unless `force`)."""
    there = {piece.sha256 for piece in known.pieces}
    new: dict[str, Source] = {}
    skipped = []
    with ThreadPoolExecutor(usable_cpus()) as threads:
        hashes = threads.map(Source.with_content, sources)
    for source, (hashed, sha256) in zip(sources, hashes, strict=True):
        if sha256 in new or (sha256 in there and not force):
            skipped.append(source.path)
        else:
            new[sha256] = hashed
    return new, skipped


def _plan_tasks(
    new: dict[str, Source], known: Manifest, place: Place, asked: IngestRequest, workers: Workers
) -> list[PieceTask]:
    """Return a task for each new source (by hash); a trace that replaces another one keeps its trace_id."""
    there = {piece.sha256: piece for piece in known.pieces}
    next_id = max((piece.trace_id for piece in known.pieces), default=0) + 1
    share = workers.plan_share(len(new))
    key = _hash_request(asked)
    where = Place(place.path()) if place.is_local else place  # workers may be in another folder
    tasks = []
    for sha256, source in new.items():
        if sha256 in there:
            trace_id = there[sha256].trace_id
        else:
            trace_id, next_id = next_id, next_id + 1
        built = Task(
            source=source,
            database=Path(),
            scratch=Path(),
            trace_id=trace_id,
            run=_choose_run(asked, there.get(sha256)),
            sha256=sha256,
            choice=asked.choice,
            jobs=1,
            threads=share.threads,
            memory=share.memory,
            captures=asked.captures,
            inductor=inductor_files(asked.inductor, source.path),
            is_inductor_given=bool(asked.inductor),
            beside=asked.beside,
        )
        tasks.append(PieceTask(built, where, f"{STAGING}/{sha256[:32]}", key))
    return tasks


def _choose_run(asked: IngestRequest, before: Piece | None) -> str | None:
    """Return the run that --run names, else the named run of the piece that the trace replaces; None without either."""
    return before.run if asked.run is None and before is not None and before.job_key is None else asked.run


def _hash_request(asked: IngestRequest) -> str:
    """Return a hash of what pieces depend on besides their files: the request's options, and traceq's code."""
    beside = [content_hash([log]) for log in asked.beside.logs]
    captures = [content_hash(capture.files) for capture in asked.captures]
    parts: Any = (
        asked.run,
        repr(asked.choice),
        beside,
        asked.beside.offset,
        [content_hash([path]) for path in list_format_files(asked.beside.formats)] if beside else [],
        captures,
        repr(asked.inductor),
        code_hash(*_ROOMS),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _add(
    place: Place,
    known: Manifest,
    tasks: Sequence[PieceTask],
    done: dict[str, MadePiece],
    asked: IngestRequest,
    check: Callable[[], None],
) -> tuple[str, ...]:
    """Move the new pieces to their places, judge their windows anew, and commit both to the dataset.

    Returns the former run of each replaced trace that moved to another run. `check` raises StoreError if the lock was
    lost.
    """
    made = [done[task.folder] for task in tasks]
    new = {one.trace_id for one in made}
    replaced = {piece.trace_id: piece for piece in known.pieces if piece.trace_id in new}
    moved = {trace_id: piece for trace_id, piece in replaced.items() if asked.run not in (None, piece.run)}
    stays = {trace_id: piece for trace_id, piece in replaced.items() if trace_id not in moved}
    kept = [piece for piece in known.pieces if piece.trace_id not in replaced]
    known = adopt_numbering(place, known, kept)
    shapes = list(known.shapes)
    added = []
    there = {(piece.run, piece.window, piece.rank) for piece in known.pieces}
    check()
    for one, where in zip(made, place_pieces(kept, made, stays), strict=True):
        # what is replaced stays where it is, for those who read it and until the dataset says otherwise
        again = known.generation + 1 if (where.run.name, where.window, where.rank) in there else 0
        added.append(piece_of(one, where, shapes, again))

    def put(pair: tuple[PieceTask, Piece]) -> None:
        place.remove(pair[1].folder)
        place.move(pair[0].folder, pair[1].folder)

    place.at_once(put, zip(tasks, added, strict=True))
    gone = {(piece.run, piece.window) for piece in replaced.values()}
    touched = {(piece.run, piece.window) for piece in added} | gone
    pieces = [*kept, *added]
    windows = refill_windows(place, replace_pieces(known, pieces, shapes), touched)
    check()
    commit(place, known, pieces, windows, shapes)
    return tuple(piece.run for piece in moved.values())


def piece_of(made: MadePiece, where: PlacedPiece, shapes: list[tuple[str, ...]], again: int = 0) -> Piece:
    """Return the piece as the manifest lists it; its set of tables is added to `shapes` if it is not there.

    `again` is the generation in which it replaces another piece, else 0.
    """
    tables = tuple(sorted(made.tables))
    if tables not in shapes:
        shapes.append(tables)
    return Piece(
        trace_id=made.trace_id,
        run=where.run.name,
        window=where.window,
        rank=where.rank,
        sha256=made.sha256,
        digest=made.digest,
        shape=shapes.index(tables),
        size=made.size,
        begin=made.begin,
        end=made.end,
        again=again,
        job_key=where.run.key,
    )


def replace_pieces(known: Manifest, pieces: Iterable[Piece], shapes: Sequence[tuple[str, ...]]) -> Manifest:
    """Return a copy of the manifest with these pieces and shapes."""
    return msgspec.structs.replace(known, pieces=tuple(pieces), shapes=tuple(shapes))


def refill_windows(place: Place, manifest: Manifest, touched: Iterable[tuple[str, int]]) -> list[DatasetWindow]:
    """Return the manifest's windows, with those in `touched` (run, window) judged anew.

    Windows without pieces are dropped.
    """
    touched = set(touched)
    windows = [window for window in manifest.windows if (window.run, window.window) not in touched]
    jobs = {window.run: window.job for window in manifest.windows}
    # jobs are numbered as in a database, which sorts them by what their traces have in common
    keys = {piece.run: piece.job_key or f"run {piece.run}" for piece in manifest.pieces}
    for run, window in sorted(touched, key=lambda key: (keys.get(key[0], ""), key[1])):
        pieces = manifest.pieces_of(run, window)
        if not pieces:
            continue
        job = jobs.setdefault(run, max(jobs.values(), default=-1) + 1)
        folder = f"{folder_of(run, window)}/job/{manifest.generation + 1}"
        windows.append(fill_window(place, manifest, pieces, DatasetWindow(run, window, job, folder, (), "")))
    return windows
