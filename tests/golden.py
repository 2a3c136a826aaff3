"""Golden files: the expected text lies beside the test, and one option rewrites it."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest


class Golden:
    """The folder `golden` beside a test file; with `update` it is written instead of compared."""

    def __init__(self, folder: Path, *, update: bool) -> None:
        self._folder = folder
        self._update = update

    def check(self, name: str, actual: str) -> None:
        path = self._folder / name
        if self._update:
            path.parent.mkdir(exist_ok=True)
            path.write_text(actual, "utf-8", newline="\n")
            return
        expected = path.read_text("utf-8") if path.exists() else ""
        if actual != expected:
            lines = difflib.unified_diff(
                expected.splitlines(), actual.splitlines(), f"golden/{name}", "actual", lineterm=""
            )
            pytest.fail(
                "\n".join([*lines, "", "if this is meant: pytest --update-golden, and read the diff"]),
                pytrace=False,
            )
