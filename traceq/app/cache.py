"""The cache of ingested traces: a trace is read once, and every command that is printed for it works on what is kept.

An entry is a trace database, named by the file and by a hash of all that it depends on: the paths and the content of the
traces, what is said about steps, and traceq itself. See docs/decisions/0024-cache.md.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from traceq.app.read_options import ReadOptions
from traceq.common.cache_folder import cache_limit, cache_path, is_own, partial_path, prepare_cache
from traceq.common.code_hash import code_hash
from traceq.common.scratch import remove
from traceq.common.version import __version__
from traceq.database.connect import SCHEMA_VERSION
from traceq.database.empty import forget
from traceq.errors import UnusableTrace
from traceq.formats import made_with, printed, worker_samples
from traceq.formats.made_with import path_beside
from traceq.importers.training_logs import list_format_files
from traceq.loading.inductor import inductor_files
from traceq.loading.sources import capture_sources, content_hash, find_sources, logs_beside, paths_of

_SUFFIX = ".duckdb"
_BESIDE = (made_with.SUFFIX, printed.SUFFIX, worker_samples.SUFFIX)
_UNSAFE = re.compile(r"[^\w.-]+")
# The rooms of traceq on which the tables of a database depend.
_ROOMS = ("analysis", "database", "formats", "importers", "loading")


class Entry(NamedTuple):
    """A trace database in the cache: its file, its size in bytes, and the time of its last use, seconds since 1970."""

    path: Path
    size: int
    used: float


def list_entries() -> list[Entry]:
    """Return the databases in the cache, the most recently used first."""
    found = []
    for path in cache_path().glob(f"[!.]*{_SUFFIX}"):
        if not is_own(path):
            continue
        try:
            facts = path.stat()
        except FileNotFoundError:  # removed by another process
            continue
        found.append(Entry(path, facts.st_size, facts.st_mtime))
    return sorted(found, key=lambda entry: (-entry.used, entry.path.name))


def last_of(source: str | Path) -> Path | None:
    """Return the most recently used cached database for a trace of this file name, in whatever folder; None without any.

    The trace is not read: it may have changed since, or be another one of the same name.
    """
    pattern = re.compile(rf"{re.escape(_safe_stem(source))}-[0-9a-f]{{32}}{re.escape(_SUFFIX)}")
    return next((entry.path for entry in list_entries() if pattern.fullmatch(entry.path.name)), None)


def clear() -> list[Entry]:
    """Remove all databases from the cache and return the removed entries. Processes that have one open can read on."""
    removed = list_entries()
    for entry in removed:
        entry.path.unlink(missing_ok=True)
    forget()
    return removed


def entry_of(source: str | Path, read: ReadOptions) -> Path:
    """Return the path in the cache for the database of the traces `source`; an existing file is marked as used now."""
    prepare_cache(cache_path())
    entry = cache_path() / _name(source, read)
    if is_own(entry):
        os.utime(entry)
    else:
        remove(entry)  # what another user has put there
    return entry


@contextmanager
def new_entry(entry: Path, source: str | Path, read: ReadOptions) -> Iterator[Path]:
    """Yield a path to write the database of the traces `source` to, which becomes the cache entry after the block.

    Raises UnusableTrace if the traces changed meanwhile.
    """
    with partial_path(entry) as place:
        place.mkdir(mode=0o700)
        yield (part := place / "traces.duckdb")
        # What it is named by may have changed before the ingest looked, and an ingest knows no hash of what lies beside.
        if _name(source, read) != entry.name:
            raise UnusableTrace(f"{source}: changed while being read; retry when the writer has finished")
        part.replace(entry)
    _shrink(entry)


def _name(source: str | Path, read: ReadOptions) -> str:
    """Return the file name of the cache entry: the source's name and a hash of all that the database depends on."""
    found = find_sources([source])
    traces = [(str(trace.path.resolve()), content_hash(trace.files)) for trace in found]
    logs = [content_hash([log]) for trace in found for log in logs_beside(trace.path, ())]
    monitors = read.logs_beside
    given_logs = [(log.name, content_hash([log])) for log in monitors.logs]
    formats = [content_hash([path]) for path in list_format_files(monitors.formats)] if given_logs else []
    beside = [path_beside(trace.path, suffix) for trace in found for suffix in _BESIDE]
    recorded = [content_hash([path]) for path in beside if path.is_file()]
    graphs = [content_hash(capture.files) for capture in capture_sources(read.capture)]
    given = paths_of(read.inductor)
    compiled = [(str(file), content_hash([file])) for trace in found for file in inductor_files(given, trace.path)]
    depends = [
        __version__,
        SCHEMA_VERSION,
        code_hash(*_ROOMS),
        traces,
        logs,
        given_logs,
        formats,
        read.offset,
        recorded,
        graphs,
        compiled,
        sorted(read.choice_texts.items()),
    ]
    key = hashlib.sha256(json.dumps(depends).encode()).hexdigest()
    return f"{_safe_stem(source)}-{key[:32]}{_SUFFIX}"


def _safe_stem(source: str | Path) -> str:
    """Return the source's file name, with other characters than letters, digits and .

    _ - replaced, and at most 60 long.
    """
    return _UNSAFE.sub("_", Path(source).name)[:60].strip(".") or "traces"


def _shrink(kept: Path) -> None:
    """Remove the least recently used entries until the cache keeps its size limit; `kept` stays."""
    found = list_entries()
    left = sum(entry.size for entry in found) - cache_limit()
    for entry in reversed(found):
        if left <= 0:
            return
        if entry.path != kept:
            entry.path.unlink(missing_ok=True)
            left -= entry.size
