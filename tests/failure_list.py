"""Many cheap checks in one test, which lists all that fail."""

from __future__ import annotations

from collections.abc import Iterable

import pytest


def assert_none(wrong: Iterable[str]) -> None:
    """Fail with one line for each of `wrong`, unless there are none."""
    lines = list(wrong)
    if lines:
        pytest.fail("\n".join([f"{len(lines)} wrong:", *lines]), pytrace=False)
