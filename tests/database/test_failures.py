"""What DuckDB and the system raise is told in one line, with what to do about it."""

from __future__ import annotations

import errno
import os

import duckdb
import pytest

from traceq.app.pipeline import ensure_cached
from traceq.app.read_options import AS_FOUND
from traceq.database.failures import one_line, way_out
from traceq.errors import StoreError
from traceq.loading.ingest import ingest

ROOM = "; make room, or write elsewhere (-o; TMPDIR for temporary files)"


@pytest.mark.parametrize(
    ("error", "way"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a.duckdb"), ROOM),
        (duckdb.IOException('IO Error: Could not write file "a.duckdb": No space left on device'), ROOM),
        (
            duckdb.FatalException('FATAL Error: Failed to create checkpoint: Could not write file "a": File too large'),
            "; files may not grow further here: ulimit -f says how far",
        ),
        (
            OSError(errno.EMFILE, os.strerror(errno.EMFILE), "a"),
            "; raise the limit of open files: ulimit -n",
        ),
        (
            duckdb.IOException('IO Error: Cannot open file "a": Too many open files'),
            "; raise the limit of open files: ulimit -n",
        ),
        (
            duckdb.OutOfMemoryException("Out of Memory Error: failed to pin block"),
            "; try again with more memory (--memory-limit), or an ingest with --jobs 1",
        ),
        (OSError(errno.EROFS, os.strerror(errno.EROFS), "a"), "; choose a place that can be written"),
        (OSError(errno.ENFILE, os.strerror(errno.ENFILE)), ""),
        (duckdb.IOException('IO Error: Cannot open file "a": Too many open files in system'), ""),
        (OSError(errno.ENOENT, os.strerror(errno.ENOENT), "/data/File too large/t.json"), ""),
        (duckdb.IOException("IO Error: the file is damaged"), ""),
        (OSError(errno.EACCES, os.strerror(errno.EACCES), "a"), ""),
    ],
)
def test_the_way_out(error, way):
    assert way_out(error) == way


@pytest.mark.parametrize(
    ("number", "written", "way"),
    [
        (
            errno.ENOSPC,
            "cache/.x.entry",
            "; make room, or put the cache elsewhere (TRACEQ_CACHE; TMPDIR for temporary files)",
        ),
        (errno.ENOSPC, "cache.duckdb", ROOM),
        (errno.EROFS, "cache/.x.entry", "; choose a place that can be written"),
        (errno.ENOENT, "cache/.x.entry", ""),
    ],
)
def test_the_way_out_of_a_full_cache_is_another_cache(number, written, way, tmp_path, monkeypatch):
    monkeypatch.setenv("TRACEQ_CACHE", str(tmp_path / "cache"))
    assert way_out(OSError(number, os.strerror(number)), tmp_path / written) == way


def test_an_ingest_into_a_full_cache_names_the_cache(tmp_path, monkeypatch):
    def fill_disk(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setenv("TRACEQ_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TRACEQ_NO_CACHE", raising=False)
    monkeypatch.setattr("traceq.loading.ingest.build_all", fill_disk)
    trace = tmp_path / "a.json"
    trace.write_text(
        '{"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "cat": "cpu_op"}]}'
    )
    with pytest.raises(
        StoreError, match=r"No space left on device; make room, or put the cache elsewhere \(TRACEQ_CACHE;"
    ):
        ensure_cached(trace, AS_FOUND)
    with pytest.raises(StoreError, match=r"No space left on device; make room, or write elsewhere \(-o;"):
        ingest(trace, tmp_path / "a.duckdb")


def test_advice_of_duckdb_is_left_out():
    said = "Out of Memory Error: could not allocate\n\nPossible solutions:\n* Reducing the number of threads (SET threads=X)"
    assert one_line(duckdb.OutOfMemoryException(said)) == "Out of Memory Error: could not allocate"
