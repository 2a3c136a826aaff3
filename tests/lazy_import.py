"""Heavy modules that only some tests use: collecting the tests does not import them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest


class Lazily:
    """A module that is imported when a test first uses what is in it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        # While it collects tests pytest asks everything in a file whether it is a mock, or wrapped.
        if attribute == "_mock_name" or (attribute.startswith("__") and attribute != "__version__"):
            raise AttributeError(attribute)
        return getattr(import_module(self._name), attribute)


def module(name: str) -> Any:
    """The module `name`; where its package is not installed, the tests of the file that asks for it are skipped."""
    package = name.partition(".")[0]
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed", allow_module_level=True)
    return Lazily(name)
