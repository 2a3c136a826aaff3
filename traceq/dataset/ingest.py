"""Ingest into a dataset: each trace becomes a piece, wherever workers make it; then their windows are worked out anew."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from traceq.analysis.steps.choice import Choice
from traceq.common.code_hash import code_hash
from traceq.common.process import usable_cpus
from traceq.database.connect import memory_for
from traceq.dataset.jobs import fill_window
from traceq.dataset.lock import writing
from traceq.dataset.manifest import Manifest, Piece, Window, commit, read_manifest
from traceq.dataset.piece import Made, PieceTask, read_piece
from traceq.dataset.place import Place, folder_of
from traceq.dataset.runner import Told, run_all
from traceq.dataset.windows import placed
from traceq.loading.build import Task
from traceq.loading.inductor import inductor_files
from traceq.loading.ingest import Failure, IngestedTrace, IngestResult
from traceq.loading.monitors import Beside
from traceq.loading.sources import Source, content_hash

# Pieces that are made, until it is known in which window they are.
STAGING = ".pieces"

# The rooms that what is in a piece depends on.
_ROOMS = ("analysis", "database", "formats", "importers", "loading")

# Of a process that makes a piece, bytes.
_LEAST_MEMORY = 128 << 20


@dataclass(frozen=True)
class Asked:
    """What an ingest into a dataset is asked for, beside its sources."""

    run: str | None
    jobs: int
    memory_limit: int | None
    choice: Choice
    captures: tuple[Source, ...]
    inductor: tuple[str | Path, ...]
    beside: Beside
    force: bool


def ingest_dataset(
    sources: Sequence[Source], place: Place, asked: Asked, executor: Executor, told: Told
) -> IngestResult:
    """Add the traces to the dataset, which is made where there is none; raises StoreError when another one writes it.

    Pieces that were made count even when others fail; `told` hears of each.
    """
    with writing(place) as check:
        known = read_manifest(place)
        new, skipped, replaced = _split(sources, known, force=asked.force)
        tasks = _tasks(new, known, place, asked)
        before = place.at_once(lambda task: _made_before(place, task), tasks)
        done = {task.folder: made for task, made in zip(tasks, before, strict=True) if made is not None}
        missing = [task for task in tasks if task.folder not in done]
        failures = []
        for task, outcome in run_all(missing, executor, told):
            if isinstance(outcome, Failure):
                failures.append(outcome)
            else:
                done[task.folder] = outcome
        finished = [task for task in tasks if task.folder in done]
        if not finished:
            return IngestResult(place.name, (), tuple(skipped), failures=tuple(failures))
        _add(place, known, finished, done, replaced, asked.memory_limit, check)
    ingested = tuple(_told(task, done[task.folder]) for task in finished)
    resumed = len(tasks) - len(missing)
    return IngestResult(place.name, ingested, tuple(skipped), failures=tuple(failures), resumed=resumed)


def _told(task: PieceTask, made: Made) -> IngestedTrace:
    counts = (made.tables.get(each, 0) for each in ("cpu_slice", "gpu_slice", "import_note"))
    return IngestedTrace(task.build.source.shown, made.trace_id, *counts)


def _split(
    sources: Sequence[Source], known: Manifest, *, force: bool
) -> tuple[dict[str, Source], list[Path], set[int]]:
    """Sources to add by their hashes, paths to skip, and trace_ids of pieces that are replaced."""
    there = {piece.sha256: piece.trace_id for piece in known.pieces}
    new: dict[str, Source] = {}
    skipped = []
    for source in sources:
        sha256 = content_hash(source.files)
        if sha256 in new or (sha256 in there and not force):
            skipped.append(source.path)
        else:
            new[sha256] = source
    return new, skipped, {there[each] for each in new if each in there}


def _tasks(new: dict[str, Source], known: Manifest, place: Place, asked: Asked) -> list[PieceTask]:
    there = {piece.sha256: piece.trace_id for piece in known.pieces}
    next_id = max(there.values(), default=0) + 1
    at_once = max(1, min(asked.jobs, len(new)))
    key = _key(asked)
    tasks = []
    for sha256, source in new.items():
        trace_id = there.get(sha256)
        if trace_id is None:
            trace_id, next_id = next_id, next_id + 1
        built = Task(
            source=source,
            database=Path(),
            scratch=Path(),
            trace_id=trace_id,
            run=asked.run or source.shown.resolve().parent.name or "traces",
            sha256=sha256,
            choice=asked.choice,
            jobs=1,
            threads=max(1, usable_cpus() // at_once),
            memory=max(_LEAST_MEMORY, memory_for(asked.memory_limit) // at_once),
            captures=asked.captures,
            inductor=inductor_files(asked.inductor, source.path),
            is_inductor_given=bool(asked.inductor),
            beside=asked.beside,
        )
        tasks.append(PieceTask(built, place, f"{STAGING}/{sha256[:32]}", key))
    return tasks


def _key(asked: Asked) -> str:
    """A hash of what pieces depend on beside their files: what is asked for, and traceq."""
    beside = [content_hash([each]) for each in asked.beside.logs]
    captures = [content_hash(each.files) for each in asked.captures]
    parts: Any = (
        asked.run,
        repr(asked.choice),
        beside,
        asked.beside.offset,
        captures,
        repr(asked.inductor),
        code_hash(*_ROOMS),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _made_before(place: Place, task: PieceTask) -> Made | None:
    """The piece that an ingest before this one made of the same file in the same way, and could not add."""
    made = read_piece(place, task.folder)
    same = made is not None and (made.asked, made.trace_id, made.run) == (
        task.asked,
        task.build.trace_id,
        task.build.run,
    )
    return made if same else None


def _add(
    place: Place,
    known: Manifest,
    tasks: Sequence[PieceTask],
    done: dict[str, Made],
    replaced: set[int],
    memory_limit: int | None,
    check: Callable[[], None],
) -> None:
    """Put the pieces that were made where they belong, fill the windows they are in, and make the dataset hold both."""
    kept = [piece for piece in known.pieces if piece.trace_id not in replaced]
    made = [done[task.folder] for task in tasks]
    shapes = list(known.shapes)
    added = []
    check()
    for one, (window, rank) in zip(made, placed(kept, made), strict=True):
        tables = tuple(sorted(one.tables))
        if tables not in shapes:
            shapes.append(tables)
        piece = Piece(
            trace_id=one.trace_id,
            run=one.run,
            window=window,
            rank=rank,
            sha256=one.sha256,
            digest=one.digest,
            shape=shapes.index(tables),
            size=one.size,
            begin=one.begin,
            end=one.end,
        )
        added.append(piece)

    def put(pair: tuple[PieceTask, Piece]) -> None:
        place.remove(pair[1].folder)
        place.move(pair[0].folder, pair[1].folder)

    place.at_once(put, zip(tasks, added, strict=True))
    gone = {(piece.run, piece.window) for piece in known.pieces if piece.trace_id in replaced}
    touched = {(piece.run, piece.window) for piece in added} | gone
    pieces = [*kept, *added]
    windows = refill(place, replace_pieces(known, pieces, shapes), touched, memory_limit)
    check()
    commit(place, known, pieces, windows, shapes)


def replace_pieces(known: Manifest, pieces: Iterable[Piece], shapes: Sequence[tuple[str, ...]]) -> Manifest:
    """The manifest with these pieces."""
    return msgspec.structs.replace(known, pieces=tuple(pieces), shapes=tuple(shapes))


def refill(
    place: Place, manifest: Manifest, touched: Iterable[tuple[str, int]], memory_limit: int | None
) -> list[Window]:
    """The windows of the manifest, those that are `touched` judged anew from their pieces."""
    touched = set(touched)
    windows = [each for each in manifest.windows if (each.run, each.window) not in touched]
    jobs = {each.run: each.job for each in manifest.windows}
    for run, window in sorted(touched):
        pieces = manifest.of_window(run, window)
        if not pieces:
            continue
        job = jobs.setdefault(run, max(jobs.values(), default=-1) + 1)
        folder = f"{folder_of(run, window)}/job/{manifest.generation + 1}"
        windows.append(fill_window(place, manifest, pieces, Window(run, window, job, folder, (), ""), memory_limit))
    return windows
