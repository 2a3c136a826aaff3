"""What is no trace is refused with a message that says what it is, where, and what to do."""

from __future__ import annotations

import gzip
import io
import os
import re
import zipfile

import pytest
from small_traces import ROOT, error_of, names_in, trace_file

from traceq.errors import MissingTool, NoTraces, TraceqError, UnknownFormat, UnusableTrace
from traceq.loading.ingest import ingest

TRACE = b'{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1, "pid": 0, "tid": 0}]}'
SQLITE = (ROOT / "fixtures" / "broken" / "sqlite_not_nsys.sqlite").read_bytes()


def zip_members(**members):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_", "."), content)
    return packed.getvalue()


# What the file holds, the error, and what the message says of the fault and of the way out.
WRONG_FILES = {
    "empty": (b"", UnusableTrace, "is empty", "was the profiler stopped"),
    "blank": (b" \n", UnusableTrace, "the file is empty but for blanks", "was the profiler stopped"),
    "empty gzip": (gzip.compress(b""), UnusableTrace, "is empty", "was the profiler stopped"),
    "gzip header only": (b"\x1f\x8b", UnusableTrace, "cannot be decompressed", "copy it again"),
    "git-lfs pointer": (b"version https://git-lfs.github.com/spec/v1\n", UnknownFormat, "git-lfs", "git lfs pull"),
    "AppleDouble": (b"\x00\x05\x16\x07\x00\x02\x00\x00", UnknownFormat, "macOS metadata", "without the leading ._"),
    "another SQLite": (SQLITE, UnknownFormat, "not an nsys export", "nsys export --type sqlite"),
    "another SQLite in gzip": (gzip.compress(SQLITE), UnknownFormat, "gzip'd and contains a SQLite", "nsys export"),
    "HTML": (b"<!DOCTYPE html>", UnknownFormat, "HTML", "download the raw file"),
    "HTML in gzip": (gzip.compress(b"<html>"), UnknownFormat, "HTML", "download the raw file"),
    "zip of text": (zip_members(readme_txt="hello"), UnknownFormat, "without a JSON trace", "torch.profiler"),
    "zip of two traces": (zip_members(a_json=TRACE, b_json=TRACE), UnusableTrace, "holds 2 traces", "unpack it"),
    "zip cut short": (zip_members(a_json=TRACE)[:-30], UnusableTrace, "damaged zip", "copied completely"),
    "Parquet": (b"PAR1\x15\x04", UnknownFormat, "Parquet", "nsys export --type sqlite"),
    "JSON object": (b'{"a": 1}', UnknownFormat, "no traceEvents", "torch.profiler"),
    "JSON object after a BOM": (b"\xef\xbb\xbf {}", UnknownFormat, "no traceEvents", "torch.profiler"),
    "JSON in gzip": (gzip.compress(b"{}"), UnknownFormat, "gzip'd and contains JSON", "torch.profiler"),
    "JSON list": (b"[1, 2]", UnknownFormat, "not of Chrome trace events", "torch.profiler"),
    "no events": (b'{"traceEvents": []}', UnusableTrace, "holds no events", "was the profiler stopped"),
    "text": ("hé".encode() + b"llo\n" * 2000, UnknownFormat, ": is plain text; traceq reads", "torch.profiler"),
    "text in gzip": (gzip.compress(b"hello"), UnknownFormat, "gzip'd and contains plain text", "torch.profiler"),
    "UTF-16": (TRACE.decode().encode("utf-16"), UnknownFormat, "is nothing that traceq knows", "torch.profiler"),
    "PNG": (b"\x89PNG\r\n\x1a\n" + bytes(64), UnknownFormat, ": is a PNG image; traceq reads", "torch.profiler"),
    "JPEG": (b"\xff\xd8\xff\xe0" + bytes(64), UnknownFormat, ": is a JPEG image; traceq reads", "torch.profiler"),
    "PDF": (b"%PDF-1.7\n" + bytes(64), UnknownFormat, ": is a PDF document; traceq reads", "torch.profiler"),
    "notebook": (b'{"cells": [{"cell_type": "code"}]}', UnknownFormat, ": is a Jupyter notebook; traceq", "torch.profiler"),
    "noise": (bytes(range(255, 127, -1)) * 9, UnknownFormat, "is nothing that traceq knows", "torch.profiler"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "kind", "fault", "way_out"), WRONG_FILES.values(), ids=WRONG_FILES)
def test_wrong_file_is_explained(tmp_path, content, kind, fault, way_out):
    path = tmp_path / "profile.json.gz"  # the name means nothing
    path.write_bytes(content)
    message = error_of(kind, [path])
    assert message.startswith(f"{path}: ")
    assert fault in message
    assert way_out in message
    assert names_in(tmp_path) == [path.name]


GZIP_OF_NOISE = gzip.compress(b"")[:10] + b"\xff" * 999


def test_gzip_of_noise(tmp_path):
    (tmp_path / "a.gz").write_bytes(GZIP_OF_NOISE)
    assert "cannot be decompressed; copy it again" in error_of(UnusableTrace, [tmp_path / "a.gz"])


def test_gzip_of_noise_among_many(tmp_path):
    (tmp_path / "a.gz").write_bytes(GZIP_OF_NOISE)
    assert "none of 1 files" in error_of(NoTraces, [tmp_path])


def list_broken():
    readme = (ROOT / "fixtures" / "README.md").read_text("utf-8")
    return re.findall(r"^\| (\S+) \| .* \| error: (\S+) \|$", readme, re.MULTILINE)


@pytest.mark.parametrize(("name", "slug"), list_broken())
def test_broken_fixture_is_refused_as_its_line_in_the_readme_says(tmp_path, name, slug):
    path = ROOT / "fixtures" / "broken" / name
    with pytest.raises(TraceqError, match=re.escape(str(path))) as caught:
        ingest([path], tmp_path / "t.duckdb")
    assert (caught.value.slug, names_in(tmp_path)) == (slug, [])


def test_missing_file(tmp_path):
    assert error_of(UnusableTrace, [tmp_path / "a.json"]).startswith(f"{tmp_path}/a.json: no such file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_file_that_may_not_be_read(tmp_path):
    path = trace_file(tmp_path / "a.json")
    path.chmod(0)
    assert "Permission denied" in error_of(UnusableTrace, [path])


def test_file_that_cannot_be_opened(tmp_path, monkeypatch):
    path = trace_file(tmp_path / "a.json")

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(type(path), "open", refuse)
    assert error_of(UnusableTrace, [path]) == f"{path}: cannot be read: Permission denied"


def test_report_that_only_nsys_can_read(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    path = tmp_path / "run.nsys-rep"
    path.write_bytes(b"\x0a\x07opaque")
    assert "nsys export --type sqlite" in error_of(MissingTool, [path])
    assert names_in(tmp_path) == ["run.nsys-rep"]


@pytest.mark.parametrize("glob", ["", "/*", "/**/*.json"])
def test_nothing_among_many(tmp_path, glob):
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "b").mkdir()
    message = error_of(NoTraces, [f"{tmp_path}{glob}"])
    assert message.startswith(f"{tmp_path}{glob}: none of ")
    assert "name a trace file" in message


@pytest.mark.parametrize("glob", ["*.sqlite", "[x", "**/no"])
def test_pattern_that_no_file_matches(tmp_path, glob):
    trace_file(tmp_path / "a.json")
    assert error_of(NoTraces, [tmp_path / glob]).startswith(f"{tmp_path}/{glob}: no such file")
