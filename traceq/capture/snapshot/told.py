"""Facts asked one by one, so that one which cannot be had costs no other."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress


def told(*asked: tuple[str, Callable[[], object]]) -> dict[str, object]:
    """Name and value of each that can be had. What it warns of, the program has not asked for."""
    found: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, ask in asked:
            with suppress(Exception):
                found[name] = ask()
    return found
