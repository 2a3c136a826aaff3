"""Files that commands write keep the mode they had, and nothing that others planted beside them is written to."""

from __future__ import annotations

import os
import stat

import pytest

from traceq.common import files
from traceq.common.files import atomic_write
from traceq.errors import StoreError


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
