"""A hash of parts of traceq: files that other code made are made anew."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable


@cache
def code_hash(*rooms: str) -> str:
    """Return a hash over all code files (py, sql, toml, json) in these folders or files, paths below traceq/."""
    found = hashlib.sha256()
    for room in rooms:
        for path, content in _list_code(files("traceq").joinpath(room), room):
            found.update(f"{path} {len(content)}\n".encode() + content)
    return found.hexdigest()


def _list_code(place: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    """Yield the path and content of each code file below `place`, sorted by name; `path` is its path below traceq/."""
    if place.is_file():
        if path.endswith((".py", ".sql", ".toml", ".json")):
            yield path, place.read_bytes()
        return
    for entry in sorted(place.iterdir(), key=lambda entry: entry.name):
        yield from _list_code(entry, f"{path}/{entry.name}")
