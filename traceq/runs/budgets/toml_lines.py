"""The line of a TOML file on which each key stands: tomllib reads keys and values, and says no positions."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

# What a statement over several lines can end with.
_ENDS = ('"""', "'''", "]", "}")
# Characters: each line in which a statement could end has the whole statement read again.
_MOST_READ = 1 << 20


def find_toml_lines(text: str) -> dict[tuple[str | int, ...], int]:
    """Return the line, from 1, on which each table and key of the valid TOML `text` begins.

    Keys are paths; an element of an array of tables is its number: ("sql", 0, "query"). Statements end where a line does,
    and each is valid TOML by itself: that is how they are found. Those behind statements of thousands of lines are left out.
    """
    found: dict[tuple[str | int, ...], int] = {}
    arrays: dict[str, int] = {}
    above: tuple[str | int, ...] = ()
    for line, statement in _split_statements(text):
        is_header = statement.lstrip().startswith("[")
        paths = [_number_tables(path, arrays) for path in _key_paths(tomllib.loads(statement), is_header=is_header)]
        if is_header:
            above = paths[-1]
        for path in paths:
            found.setdefault(path if is_header else (*above, *path), line)
    return found


def _split_statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield every statement but comments, with the line it begins on."""
    begun: list[str] = []
    start = 1
    read = 0
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if begun and not any(end in line for end in _ENDS):
            begun.append(line)
            continue
        begun.append(line)
        statement = "\n".join(begun)
        read += len(statement)
        if read > _MOST_READ:
            return
        try:
            content = tomllib.loads(statement)
        except tomllib.TOMLDecodeError:
            continue
        if content:
            yield start, statement
        begun, start = [], number + 1


def _key_paths(content: Mapping[str, Any], *, is_header: bool) -> Iterator[tuple[str | int, ...]]:
    """Yield the keys of a statement, from the outside inwards; those of an array of tables end in -1."""
    for key, value in content.items():
        yield (key,)
        if isinstance(value, dict):
            yield from ((key, *path) for path in _key_paths(value, is_header=is_header))
        elif is_header:
            yield (key, -1)


def _number_tables(path: tuple[str | int, ...], arrays: dict[str, int]) -> tuple[str | int, ...]:
    """Return the path with its last -1 replaced by the number of such tables before it."""
    if path[-1] != -1:
        return path
    name = "\0".join(map(str, path[:-1]))
    arrays[name] = arrays.get(name, -1) + 1
    return (*path[:-1], arrays[name])
