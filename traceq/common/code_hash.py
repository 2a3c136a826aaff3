"""A hash of parts of traceq: files that other code made are made anew."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


@cache
def code_hash(*rooms: str) -> str:
    """Return a hash over all code files (py, sql, toml, json) in these folders or files, paths below traceq/."""
    return hashlib.sha256(b"".join(map(_hash_room, rooms))).hexdigest()


@cache
def _hash_room(room: str) -> bytes:
    """Return the hash of one of the folders or files, cached because callers ask for several in common."""
    found = hashlib.sha256()
    place = os.fspath(_PACKAGE / room)
    for path in [place] if os.path.isfile(place) else _list_code(place):  # noqa: PTH113 - see _list_code
        with open(path, "rb") as file:  # noqa: PTH123 - see _list_code
            content = file.read()
        name = room + path.removeprefix(place).replace(os.sep, "/")
        found.update(f"{name} {len(content)}\n".encode() + content)
    return found.digest()


def _list_code(place: str) -> Iterator[str]:
    """Yield the path of each code file below the folder, sorted by name; texts, as Path takes three times as long."""
    with os.scandir(place) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from _list_code(entry.path)
        elif entry.name.endswith((".py", ".sql", ".toml", ".json")):
            yield entry.path
