from __future__ import annotations

import io
import os

import pytest

from traceq.cli._output import terminal


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
    assert terminal() == expected
