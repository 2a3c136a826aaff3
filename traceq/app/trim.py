"""Trim: a part of a trace as a trace of the same format, made of the file's own records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
import msgspec

from traceq.analysis.steps.choice import read_window
from traceq.app.read_options import AS_FOUND, ReadOptions
from traceq.app.source import check_is_trace, check_writes, open_source
from traceq.common.files import write_packed
from traceq.common.scratch import temporary_folder
from traceq.database.sql import run
from traceq.errors import WrongUse
from traceq.importers.nsys.files import open_sqlite_file
from traceq.importers.rows import Notes
from traceq.loading.sources import Source as TraceSource
from traceq.loading.sources import find_sources
from traceq.sharing import chrome_part, nsys_part
from traceq.sharing.made_with import carry
from traceq.sharing.part import TracePart, part_of_steps, part_of_window, whole_part
from traceq.sharing.printed import carry_printed

_SUFFIXES = {"chrome": (".json", ".json.gz"), "nsys": (".sqlite", ".sqlite.gz", ".db")}
_ENDINGS = (".json", ".gz", ".sqlite", ".db")


class Trimmed(msgspec.Struct, frozen=True):
    """A written part of a trace: its path, its numbers of steps and of events or rows, its size and the whole file's, bytes."""

    path: Path
    steps: int
    records: int
    size: int
    whole: int


def trim(
    source: str | Path,
    output: str | Path,
    read: ReadOptions = AS_FOUND,
    *,
    steps: str | None = None,
    ranks: Sequence[int] = (),
    force: bool = False,
) -> list[Trimmed]:
    """Write a part of a trace: the `steps` (3 or 3..5) or the window of `read`; for a job, only its `ranks`.

    A step's number is that of the table step: the program's, if it gave one (ProfilerStep#3). Slices that overlap the
    part are kept whole, and so is what its ledger depends on: docs/sharing.md. `output` is a file, or a directory for
    several traces; existing files are replaced with `force` only. Raises WrongUse for options that do not fit or name
    nothing.
    """
    window = read.window
    if steps is not None and window is not None:
        raise WrongUse("--steps and --window both say what to keep: give only one.")
    if steps is None and window is None and not ranks:
        raise WrongUse("Say what to keep: --steps 3..5, --window START..END or --ranks 0,3.")
    span = None if steps is None else read_steps(steps)
    output = Path(output)
    found = _choose(source, ranks, read)
    check_writes([output], [trace.path for trace in found])
    is_several = len(found) > 1 or output.is_dir()
    if is_several and not output.is_dir() and (output.is_file() or output.suffix.lower() in _ENDINGS):
        raise WrongUse(f"{output}: {source} holds {len(found)} traces, which go into a directory: -o DIR.")
    targets = [output / _name(trace) if is_several else output for trace in found]
    for trace, target in zip(found, targets, strict=True):
        check_suffix(trace, target)
        check_is_new(target, force=force)
    is_new = is_several and not output.exists()
    if is_several:
        output.mkdir(exist_ok=True)
    try:
        return [_trim(trace, target, span, read) for trace, target in zip(found, targets, strict=True)]
    finally:
        if is_new and not any(output.iterdir()):
            output.rmdir()


def check_is_new(target: Path, *, force: bool) -> None:
    """Raise WrongUse if the file to write already exists, unless `force` allows to replace it."""
    if target.is_file() and not force:
        raise WrongUse(f"{target} already exists: name another file to write, or give --force.")


def read_steps(text: str) -> tuple[int, int]:
    """Read the first and last step of "3..5" or "3". Raises WrongUse for anything else."""
    match = re.fullmatch(r"(\d{1,12})(?:\.\.(\d{1,12}))?", text.strip())
    if match is None or int(match[2] or match[1]) < int(match[1]):
        raise WrongUse(f"--steps {text}: give a step, or the first and the last, as in 3 or 3..5.")
    return int(match[1]), int(match[2] or match[1])


def _choose(source: str | Path, ranks: Sequence[int], read: ReadOptions) -> list[TraceSource]:
    """Return the traces to trim: all of `source`, or those of the given ranks. Raises WrongUse for a missing rank."""
    check_is_trace(source)
    found = find_sources([source])
    if not ranks:
        return found
    by_rank: dict[int | None, TraceSource] = {}
    for trace in found:
        with open_source(trace.path, "trimmed", read) as connection:
            ((rank,),) = connection.execute("select any_value(rank) from trace").fetchall()
            by_rank[rank] = trace
    missing = [rank for rank in ranks if rank not in by_rank]
    if missing:
        there = ", ".join(str(rank) for rank in sorted(rank for rank in by_rank if rank is not None))
        raise WrongUse(
            f"--ranks: no trace is of rank {missing[0]}; {f'there are {there}' if there else 'none of them says its rank'}."
        )
    return [by_rank[rank] for rank in ranks]


def _name(source: TraceSource) -> str:
    """Return the file name of a trimmed trace in a directory: the trace's, uncompressed or converted if need be."""
    suffixes = _SUFFIXES.get(source.importer.NAME, ("",))
    name = source.path.name
    return name if name.lower().endswith(suffixes) else f"{source.path.stem}{suffixes[0]}"


def check_suffix(source: TraceSource, target: Path, done: str = "trimmed") -> None:
    """Raise WrongUse if the target's suffix does not fit the trace's format, or traces of this format cannot be written.

    `done` says in the message what is done with the trace.
    """
    suffixes = _SUFFIXES.get(source.importer.NAME)
    if suffixes is None:
        raise WrongUse(
            f"{source.path}: so far only traces of nsys and of the PyTorch profiler can be {done};"
            " share a report instead: traceq report --ticket"
        )
    if not target.name.lower().endswith(suffixes):
        raise WrongUse(
            f"{target}: name a file that ends in {' or '.join(suffixes)}, to match the format of {source.path.name}."
        )


def _trim(source: TraceSource, target: Path, span: tuple[int, int] | None, read: ReadOptions) -> Trimmed:
    """Write the part of one trace to `target`: `span` is its first and last step, None for the window, or all steps."""
    with open_source(source.path, "trimmed", read.with_writes(target)) as connection:
        ((trace_id,),) = connection.execute("select trace_id from trace").fetchall()
        if span is not None:
            part = part_of_steps(connection, trace_id, *span)
        elif read.window is not None:
            part = part_of_window(connection, trace_id, read_window(read.window))
        else:
            part = whole_part(connection, trace_id)
        run(connection, "sharing/sql/selection.sql", trace_id=trace_id, ts=part.ts, ts_end=part.ts_end)
        records = _write(connection, source, target, trace_id, part)
    carry(source.path, target)
    carry_printed(source.path, target)
    return Trimmed(target, part.steps, records, target.stat().st_size, source.size)


def _write(
    connection: duckdb.DuckDBPyConnection, source: TraceSource, target: Path, trace_id: int, part: TracePart
) -> int:
    """Write the part's records in the trace's own format, and return their number."""
    if source.importer.NAME == "chrome":
        with write_packed(target, is_small=True) as file:
            return chrome_part.write_part(connection, source.path, trace_id, part, file)
    with sqlite_target(target) as made, open_sqlite_file(source.path, Notes()) as export:
        return nsys_part.write_part(connection, export, made, trace_id, part)


@contextmanager
def sqlite_target(target: Path) -> Iterator[Path]:
    """Yield a temporary path for a SQLite file, which is copied to `target` when the block ends without an error."""
    with temporary_folder() as folder:
        made = folder / "part.sqlite"
        yield made
        put(made, target)


def put(made: Path, target: Path) -> None:
    """Copy the file `made` to `target`, compressed if that ends in .gz."""
    with write_packed(target, is_small=True) as file, made.open("rb") as content:
        while chunk := content.read(1 << 20):
            file.write(chunk)
