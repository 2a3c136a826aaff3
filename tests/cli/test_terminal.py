from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys

import pytest

from traceq.cli._output import terminal_width_and_colour, write


class Screen(io.StringIO):
    def __init__(self, *, is_terminal):
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self):
        return self.is_terminal


@pytest.fixture
def stdout(monkeypatch):
    def set_to(*, is_terminal, **environment):
        for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR"):
            monkeypatch.delenv(name, raising=False)
        for name, value in {"TERM": "xterm", **environment}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("sys.stdout", Screen(is_terminal=is_terminal))
        monkeypatch.setattr("shutil.get_terminal_size", lambda _: os.terminal_size((72, 24)))

    return set_to


@pytest.mark.parametrize(
    ("is_terminal", "environment", "expected"),
    [
        (True, {}, (72, True)),
        (False, {}, (100, False)),
        (True, {"COLUMNS": "50"}, (50, True)),
        (False, {"COLUMNS": "50"}, (50, False)),
        (True, {"COLUMNS": "wide"}, (72, True)),
        (True, {"COLUMNS": "0"}, (72, True)),
        (True, {"NO_COLOR": "1"}, (72, False)),
        (True, {"NO_COLOR": ""}, (72, True)),
        (True, {"TERM": "dumb"}, (72, False)),
        (False, {"FORCE_COLOR": "1"}, (100, True)),
        (False, {"FORCE_COLOR": "0"}, (100, False)),
        (False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, (100, False)),
        (True, {"FORCE_COLOR": "1", "TERM": "dumb"}, (72, True)),
    ],
)
def test_colours_are_for_terminals_and_for_who_asks_for_them(stdout, is_terminal, environment, expected):
    stdout(is_terminal=is_terminal, **environment)
    assert terminal_width_and_colour() == expected


BOLD = "\x1b[1mbold\x1b[0m\n" * 100


@pytest.fixture
def paged(monkeypatch, tmp_path):
    """Writes coloured text to a terminal of 24 lines: the value of LESS that the pager saw and its text; None without a pager."""
    pty = pytest.importorskip("pty", reason="needs pseudo-terminals")
    for name in ("less", "more", "cat", "most"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho "$LESS" > {tmp_path}/env\nexec /bin/cat > {tmp_path}/text\n')
        (tmp_path / name).chmod(0o755)

    def page(**environment):
        for name in ("PAGER", "LESS", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"):
            monkeypatch.delenv(name, raising=False)
        for name, value in {"TERM": "xterm", "PATH": str(tmp_path), **environment}.items():
            monkeypatch.setenv(name, value)
        ends = pty.openpty()
        with os.fdopen(ends[0], "rb"), os.fdopen(ends[1], "w") as screen:
            monkeypatch.setattr("sys.stdin", screen)
            monkeypatch.setattr("sys.stdout", screen)
            write(BOLD, None, colour=True)
            monkeypatch.undo()
        if not (tmp_path / "env").exists():
            return None
        return (tmp_path / "env").read_text().strip(), (tmp_path / "text").read_text().rstrip("\n")

    return page


PLAIN = "bold\n" * 100


@pytest.mark.parametrize(
    ("environment", "less", "text"),
    [
        ({}, "-R", BOLD),
        ({"LESS": "FX"}, "-R FX", BOLD),
        ({"LESS": "-i -Pline %l"}, "-R -i -Pline %l", BOLD),
        ({"PAGER": "less -S"}, "-R", BOLD),
        ({"PAGER": "cat"}, "", BOLD),
        ({"PAGER": "more"}, "", PLAIN),
        ({"PAGER": "most"}, "", PLAIN),
        ({"PAGER": "most", "FORCE_COLOR": "1"}, "", BOLD),
    ],
)
def test_a_pager_gets_colours_where_it_shows_them(paged, environment, less, text):
    assert paged(**environment) == (less, text.rstrip("\n"))


@pytest.mark.skipif(shutil.which("less") is None, reason="needs less")
@pytest.mark.parametrize("less", [None, "FX"])
def test_less_shows_colours_and_not_their_codes(less):
    pty = pytest.importorskip("pty", reason="needs pseudo-terminals")
    code = f"from traceq.cli._output import write; write({BOLD!r}, None, colour=True)"
    inherited = {name: value for name, value in os.environ.items() if name not in ("PAGER", "LESS", "LINES", "COLUMNS")}
    master, slave = pty.openpty()
    run = subprocess.Popen(
        [sys.executable, "-c", code], stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
        env={**inherited, "TERM": "xterm", **({"LESS": less} if less else {})},
    )  # fmt: skip
    os.close(slave)
    shown = os.read(master, 65536)
    while b"bold" not in shown:
        shown += os.read(master, 65536)
    os.write(master, b"q")
    # The end of a pseudo-terminal is an error of input and output.
    with contextlib.suppress(OSError):
        while more := os.read(master, 65536):
            shown += more
    os.close(master)
    assert run.wait() == 0
    assert b"\x1b[1mbold" in shown
    assert b"ESC[1m" not in shown


@pytest.mark.parametrize("pager", ["", '"less'])
def test_without_a_pager_that_can_be_called_the_text_goes_to_the_terminal(paged, pager):
    assert paged(PAGER=pager) is None
