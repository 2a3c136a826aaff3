"""Anonymise: a trace of the same format that names nobody."""

from __future__ import annotations

import secrets
from collections import Counter
from pathlib import Path

import msgspec

from traceq.app.source import check_is_trace, check_writes
from traceq.app.trim import check_is_new, check_suffix, put
from traceq.common.scratch import temporary_folder
from traceq.errors import UnusableTrace, WrongUse
from traceq.importers.nsys.files import open_sqlite_file
from traceq.importers.rows import Notes
from traceq.loading.sources import find_sources
from traceq.sharing import chrome_names, nsys_names
from traceq.sharing.made_with import TELLING, carry
from traceq.sharing.names import Names
from traceq.sharing.printed import carry_printed
from traceq.sharing.secrets import secret_kinds, texts_of


class Anonymised(msgspec.Struct, frozen=True):
    """An anonymised file: its path, its number of events or rows, and how many names were replaced or removed, by kind."""

    path: Path
    records: int
    replaced: Counter[str]
    removed: Counter[str]


def anonymise(source: str | Path, output: str | Path, *, seed: str | None = None, force: bool = False) -> Anonymised:
    """Write the trace `source` to `output` without anything that may name somebody.

    Names of kernels, operators and calls stay, and those that traceq knows the meaning of. In other names each word
    becomes a pseudonym, the same one throughout, derived from a random key or from `seed`. Everything else that is not
    known to be harmless is removed. An existing file is replaced with `force` only. Raises WrongUse for traces of other
    formats than nsys and the PyTorch profiler.
    """
    check_is_trace(source)
    output = Path(output)
    found = find_sources([source])
    if len(found) > 1:
        raise WrongUse(f"{source} holds {len(found)} traces: name one at a time, and give all the same --seed.")
    (trace,) = found
    check_suffix(trace, output, "anonymised")
    check_writes([output], [trace.path])
    check_is_new(output, force=force)
    names = Names(secrets.token_bytes(32) if seed is None else seed.encode())
    with temporary_folder() as folder:
        made = folder / "shared"
        if trace.importer.NAME == "chrome":
            with made.open("wb") as file:
                records, removed = chrome_names.write_anonymous(trace.path, names, file)
        else:
            with open_sqlite_file(trace.path, Notes()) as export:
                records, removed = nsys_names.write_anonymous(export, made, names, trace.path)
        _check_nothing_is_left(trace.path, made)
        put(made, output)
    carry(trace.path, output, without=TELLING)
    carry_printed(trace.path, output)
    return Anonymised(output, records, +names.replaced, +removed)


def _check_nothing_is_left(source: Path, made: Path) -> None:
    """Raise UnusableTrace if the written file still holds text that is known to name somebody."""
    found = sorted({kind for text in texts_of(made) for kind in secret_kinds(text)})
    if found:
        raise UnusableTrace(
            f"{source}: {', '.join(found)} would remain in the copy, so nothing was written; share a report:"
            " traceq report --ticket"
        )
