"""Files that commands write keep the mode they had, and nothing that others planted beside them is written to."""

from __future__ import annotations

import gzip
import os
import stat
from pathlib import Path

import pytest

from traceq.app.export import export
from traceq.capture import files as capture_files
from traceq.capture.monitor import sample_machine
from traceq.capture.snapshot.write import write
from traceq.cli.rules_test import _write_page
from traceq.common import files
from traceq.common.files import atomic_write
from traceq.errors import StoreError


@pytest.fixture(autouse=True)
def first_rank(monkeypatch):
    """Tell the rank without torch."""
    monkeypatch.setattr(capture_files, "rank", lambda: 0)


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "report.html"
    path.write_text("old")
    path.chmod(mode)
    with atomic_write(path) as file:
        file.write(b"new")
    assert (path.read_text(), mode_of(path)) == ("new", mode)


def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path):
    before = os.umask(0o027)
    try:
        with atomic_write(tmp_path / "report.html") as file:
            file.write(b"new")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "report.html") == 0o640


def test_a_planted_link_is_not_followed(tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    monkeypatch.setattr(files, "token_hex", lambda _: "0" * 16)
    monkeypatch.setattr(files, "owner_word", lambda: "owner")
    (tmp_path / f".report.html.owner.{'0' * 16}.part").symlink_to(victim)
    with (
        pytest.raises(StoreError, match="cannot be written: File exists"),
        atomic_write(tmp_path / "report.html") as file,
    ):
        file.write(b"new")
    assert victim.read_text() == "mine"
    assert not (tmp_path / "report.html").exists()


def test_temporary_names_cannot_be_guessed(tmp_path):
    names = set()
    for _ in range(3):
        with atomic_write(tmp_path / "report.html"):
            (part,) = tmp_path.glob(".report.html.*.part")
            names.add(part.name)
    assert len(names) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def save_trace(path):
    """Save a trace as the profiler does: to the path that it is given, by way of one beside it."""

    def write_raw(raw):
        Path(f"{raw}.tmp").write_text('{"traceName": "x"}\n')
        Path(f"{raw}.tmp").rename(raw)

    capture_files.save(write_raw, path.parent, path.name.partition(".")[0])


# By name of the file: what writes it, and what is in it then.
WRITERS = {
    "train.rank0.pt.trace.json.gz": (save_trace, b'{"traceName": "train.rank0.pt.trace.json.gz"}\n'),
    "train.rank0.made_with.json": (lambda path: write(path, None, None), b"{"),
    "accuracy.md": (lambda path: _write_page("# Page\n", path), b"# Page\n"),
}


def content_of(path):
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


@pytest.mark.parametrize("name", WRITERS)
def test_whatever_is_replaced_keeps_its_mode(tmp_path, name):
    make, content = WRITERS[name]
    (tmp_path / name).write_text("old")
    (tmp_path / name).chmod(0o640)
    make(tmp_path / name)
    assert mode_of(tmp_path / name) == 0o640
    assert content_of(tmp_path / name).startswith(content)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", WRITERS)
def test_nothing_is_written_through_links_under_names_that_can_be_guessed(tmp_path, name):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    # Those that traceq 0.1 took, and the file's own.
    guessed = [f".{word}.{os.getpid()}.part" for word in (name, name.removesuffix(".gz"))]
    planted = [*guessed, *(f"{guess}.tmp" for guess in guessed)] + ([] if name == "accuracy.md" else [name])
    for link in dict.fromkeys(planted):
        (tmp_path / link).symlink_to(victim)
    WRITERS[name][0](tmp_path / name)
    assert victim.read_text() == "mine"
    assert content_of(tmp_path / name).startswith(WRITERS[name][1])
    assert not (tmp_path / name).is_symlink()


@pytest.mark.parametrize("name", WRITERS)
def test_what_lies_under_the_temporary_name_is_not_touched(tmp_path, monkeypatch, name):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    monkeypatch.setattr(files, "token_hex", lambda _: "0" * 16)
    monkeypatch.setattr(files, "owner_word", lambda: "owner")
    (tmp_path / f".{name}.owner.{'0' * 16}.part").symlink_to(victim)
    with pytest.raises((OSError, StoreError), match="File exists"):
        WRITERS[name][0](tmp_path / name)
    assert victim.read_text() == "mine"
    assert not (tmp_path / name).exists()


def test_a_folder_of_tables_is_not_written_into_what_lies_under_its_temporary_name(tmp_path, monkeypatch, made_once):
    victim = tmp_path / "victim"
    victim.mkdir()
    monkeypatch.setattr(files, "token_hex", lambda _: "0" * 16)
    monkeypatch.setattr(files, "owner_word", lambda: "owner")
    (tmp_path / f".tables.owner.{'0' * 16}.part").symlink_to(victim)
    with pytest.raises(StoreError, match="cannot be written: File exists"):
        export(made_once, tmp_path / "tables", format="csv")
    assert not list(victim.iterdir())
    monkeypatch.undo()
    export(made_once, tmp_path / "tables", format="csv")
    assert (tmp_path / "tables" / "gpu_slice.csv").is_file()


def test_the_raw_trace_is_in_a_folder_of_this_user(tmp_path):
    seen = []

    def write_raw(raw):
        seen.append((mode_of(Path(raw).parent), Path(raw).parent.parent))
        Path(raw).write_text("{}")

    capture_files.save(write_raw, tmp_path, "train")
    assert seen == [(0o700, tmp_path)]


def test_the_log_of_the_machine_is_not_written_through_a_link(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "log").symlink_to(victim)
    with sample_machine(tmp_path / "log"):
        pass
    assert victim.read_text() == "mine"
