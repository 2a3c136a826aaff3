"""Databases of others: traceq's views and macros must be as it makes them, and no macro may take a built-in function's place.

A query runs whatever stands behind the names in it. To list all functions takes DuckDB 20 ms, so it is remembered which
files were looked at, by what changes when a file is written: in this process, and in traceq's cache.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

import duckdb

from traceq.common.cache_folder import cache_path, is_cache_wanted, is_own, prepare_cache
from traceq.common.code_hash import code_hash
from traceq.common.scratch import temporary_folder
from traceq.database.sql import statement
from traceq.errors import StoreError, WrongUse

Create = Callable[[duckdb.DuckDBPyConnection], None]
# Hashes of the texts of objects by name, without regard to case.
Objects = Mapping[str, str]

# As DuckDB prints what create_schema makes; see tests/database/test_hostile.py. Another version may print it otherwise.
AS_MADE = "database/as_made.json"

# The names are those of DuckDB: a database may have functions and views of these names, and macros are no place to filter.
_VIEWS = "select view_name, sql, internal from system.main.duckdb_views()"
_FUNCTIONS = "select function_name, internal, parameters, macro_definition from system.main.duckdb_functions()"

_LOOKED_AT = "looked-at"
# What looks; a change of any of these voids what was remembered.
_LOOKING = (AS_MADE, *(f"database/{name}.py" for name in ("untrusted", "sql", "times", "amounts", "keys")))
# More files are seldom used again.
_MOST_MARKS = 1000

_sound: set[str] = set()


def fingerprint(path: Path) -> str | None:
    """Return a hash that changes when the file is written or replaced, or traceq or DuckDB is another version.

    None if the file is missing or has a write-ahead log.
    """
    try:
        facts = path.stat()
    except OSError:
        return None
    if path.with_name(f"{path.name}.wal").exists():  # which holds what is not in the file
        return None
    parts = [
        facts.st_dev,
        facts.st_ino,
        facts.st_size,
        facts.st_mtime_ns,
        facts.st_ctime_ns,
        duckdb.__version__,
        code_hash(*_LOOKING),
    ]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def was_checked(path: Path, seen: str | None) -> bool:
    """Return whether this process or an earlier one checked the file, and it still has the fingerprint `seen`.

    True for files of this user in traceq's cache.
    """
    place = _cache_or_none()
    if place is not None and path.parent == place and is_own(path):
        return True
    if seen is None or seen != fingerprint(path):
        return False
    is_marked = place is not None and is_own(place / _LOOKED_AT) and (place / _LOOKED_AT / seen).exists()
    return seen in _sound or is_marked


def mark_checked(path: Path, seen: str | None) -> None:
    """Remember that the file was checked, unless its fingerprint is no longer `seen`."""
    if seen is None or seen != fingerprint(path):
        return
    _sound.add(seen)
    place = _cache_or_none()
    if place is not None:
        with suppress(OSError):  # a cache that cannot be used is done without
            _mark(place / _LOOKED_AT, seen)


def _cache_or_none() -> Path | None:
    """Return the path of traceq's cache; None where it is switched off or has no place."""
    try:
        return cache_path() if is_cache_wanted() else None
    except (RuntimeError, WrongUse):
        return None


def _mark(place: Path, seen: str) -> None:
    """Remember in the folder `place` that a file with the fingerprint `seen` was checked.

    Drop all marks if they are too many.
    """
    prepare_cache(place.parent)
    place.mkdir(exist_ok=True)
    marks = list(place.iterdir())
    for mark in marks if len(marks) >= _MOST_MARKS else ():
        mark.unlink(missing_ok=True)
    (place / seen).touch()


def check(connection: duckdb.DuckDBPyConnection, path: Path, create: Create, *, is_current: bool) -> None:
    """Raise StoreError if a macro replaces a built-in function of DuckDB, or a view or macro of traceq's was changed.

    `create` makes the schema in an empty database. Changes are only judged if the database `is_current`: of this schema
    version.
    """
    found, built_in = read_objects(connection)
    if replaced := sorted(name for kind, name in map(_split, found) if kind == "macro" and name in built_in):
        raise StoreError(
            f"{path}: has a macro that replaces DuckDB's function {replaced[0]}; ask its author for the trace"
        )
    if not is_current or not _find_differing(found, json.loads(statement(AS_MADE))):
        return
    if differing := _find_differing(found, hash_schema(create)):
        kind, name = _split(differing[0])
        raise StoreError(
            f"{path}: not as traceq makes it: the {kind} {name} differs; ingest the traces again, or ask its author for them"
        )


def _split(key: str) -> tuple[str, str]:
    """Return the kind and name in a key of objects such as "view kernel"."""
    kind, _, name = key.partition(" ")
    return kind, name


def _find_differing(found: Objects, made: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the sorted names of objects in the database whose text is none of those in `made`; absent ones are ignored."""
    return sorted(key for key, texts in made.items() if key in found and found[key] not in texts)


def read_objects(connection: duckdb.DuckDBPyConnection) -> tuple[Objects, set[str]]:
    """Return hashes of all views and macros by name ("view kernel"), and the lower-case names of built-in functions."""
    texts: dict[str, list[str]] = defaultdict(list)
    for name, text, is_internal in connection.execute(_VIEWS).fetchall():
        if not is_internal:
            texts[f"view {name.lower()}"].append(str(text))
    built_in = set()
    for name, is_internal, *text in connection.execute(_FUNCTIONS).fetchall():
        if is_internal:
            built_in.add(name.lower())
        else:
            texts[f"macro {name.lower()}"].append(repr(text))
    return {
        key: hashlib.sha256(repr(sorted(found)).encode()).hexdigest()[:32] for key, found in texts.items()
    }, built_in


@cache
def hash_schema(create: Create) -> dict[str, list[str]]:
    """Return the hashes of all views and macros that `create` makes, by name.

    Each may have two, because DuckDB prints some otherwise when it reads them from a file.
    """
    with temporary_folder() as place:
        path = str(place / "made.duckdb")
        found = []
        for fill in (create, lambda _: None):
            with closing(duckdb.connect(path)) as connection:
                fill(connection)
                found.append(read_objects(connection)[0])
    new, read = found
    return {key: sorted({text, read[key]}) for key, text in sorted(new.items())}
