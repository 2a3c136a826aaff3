"""Check that a dataset holds what it says: files, rows and digests of each piece, and jobs that are made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory
from typing import NamedTuple

import duckdb
import msgspec

from traceq.database.connect import connect
from traceq.database.failures import one_line
from traceq.dataset.catalogue import create_catalogue
from traceq.dataset.leftovers import files_of_piece, files_of_window, stale_windows
from traceq.dataset.manifest import Manifest, Piece, Window, read_manifest
from traceq.dataset.piece import NAME, MadePiece, digest_of_sums, digest_query, read_piece
from traceq.dataset.place import Place, folder_of
from traceq.errors import StoreError

# Pieces that are read at once; where one is damaged, all of them are read again, one by one.
_AT_ONCE = 64

Sums = Mapping[int, Mapping[str, tuple[int, str]]]


class Fault(NamedTuple):
    """A fault of a file or folder of a dataset, and the way out."""

    where: str
    what: str
    way_out: str


def find_faults(place: Place) -> Iterator[Fault]:
    """Find everything that is wrong. Raises StoreError for what is no dataset at all."""
    manifest = read_manifest(place)
    sizes = place.sizes()
    yield from _find_repeats(manifest)
    sound = []
    for piece in manifest.pieces:
        found = list(_check_files(place, manifest, piece, sizes))
        yield from found
        if not found:
            sound.append(piece)
    for first in range(0, len(sound), _AT_ONCE):
        some = sound[first : first + _AT_ONCE]
        yield from _check_content(place, manifest, some)
    yield from _check_windows(place, manifest, sizes)


def _find_repeats(manifest: Manifest) -> Iterator[Fault]:
    seen: set[int | str] = set()
    for piece in manifest.pieces:
        if piece.trace_id in seen or piece.folder in seen:
            yield Fault(piece.folder, f"trace {piece.trace_id} is listed twice", "ingest the traces into a new dataset")
        seen |= {piece.trace_id, piece.folder}


def _check_files(place: Place, manifest: Manifest, piece: Piece, sizes: Mapping[str, int]) -> Iterator[Fault]:
    """Check piece.json, and the names and sizes of files."""
    files = files_of_piece(manifest, piece)
    missing = [file for file in files if file not in sizes]
    for file in [piece.folder] if missing == files else missing:
        yield Fault(file, "is missing", _suggest_ingest(place, piece))
    if missing:
        return
    try:
        made = read_piece(place, piece.folder)
    except StoreError as error:
        yield Fault(f"{piece.folder}/{NAME}", str(error), _suggest_ingest(place, piece))
        return
    if made is None:
        yield Fault(f"{piece.folder}/{NAME}", "was written by another version of traceq", _suggest_ingest(place, piece))
        return
    if differs := _list_differences(manifest, piece, made):
        what = f"says another {', '.join(differs)} than {place.name} lists"
        yield Fault(f"{piece.folder}/{NAME}", what, _suggest_ingest(place, piece, made))
        return
    size = sum(sizes[file] for file in files if not file.endswith(NAME))
    if size != piece.size:
        yield Fault(piece.folder, f"has {size:,} bytes, not {piece.size:,}", _suggest_ingest(place, piece, made))


def _list_differences(manifest: Manifest, piece: Piece, made: MadePiece) -> list[str]:
    said = {
        "trace_id": (made.trace_id, piece.trace_id),
        "run": (made.run or piece.run, piece.run),
        "sha256": (made.sha256, piece.sha256),
        "digest": (made.digest, piece.digest),
        "tables": (sorted(made.tables), sorted(manifest.tables(piece))),
    }
    return [name for name, (one, other) in said.items() if one != other]


def _check_content(place: Place, manifest: Manifest, pieces: Sequence[Piece]) -> Iterator[Fault]:
    """Check the digests of rows."""
    try:
        sums = _sum_hashes(place, manifest, pieces)
    except (StoreError, duckdb.Error) as error:
        if len(pieces) == 1:
            yield Fault(pieces[0].folder, f"cannot be read: {one_line(error)}", _suggest_ingest(place, pieces[0]))
            return
        for piece in pieces:
            yield from _check_content(place, manifest, [piece])
        return
    for piece in pieces:
        found = sums.get(piece.trace_id, {})
        if digest_of_sums(found) == piece.digest:
            continue
        if len(pieces) > 1:  # rows of one may lie in the file of another
            yield from _check_content(place, manifest, [piece])
        else:
            yield Fault(piece.folder, _describe_difference(place, piece, found), _suggest_ingest(place, piece))


def _describe_difference(place: Place, piece: Piece, found: Mapping[str, tuple[int, str]]) -> str:
    made = read_piece(place, piece.folder)
    rows = {} if made is None else made.tables
    others = [table for table, number in rows.items() if found.get(table, (0, ""))[0] != number]
    if not others:
        return "its rows are not those that were written: their digest is another one"
    return f"{others[0]} has {found.get(others[0], (0, ''))[0]:,} rows, not {rows[others[0]]:,}"


def _sum_hashes(place: Place, manifest: Manifest, pieces: Sequence[Piece]) -> Sums:
    """Count rows and sum their hashes, by piece and table."""
    found: dict[int, dict[str, tuple[int, str]]] = {piece.trace_id: {} for piece in pieces}
    tables = sorted({table for piece in pieces for table in manifest.tables(piece)})
    with TemporaryDirectory(prefix="traceq-verify-") as folder:
        catalogue = Path(folder) / "catalogue.duckdb"
        create_catalogue(catalogue, place, msgspec.structs.replace(manifest, windows=()), pieces)
        with closing(connect(catalogue)) as connection:
            for table in tables:
                query = f"select trace_id, count(*), sum(hash(t)) from ({digest_query(table)}) as t group by trace_id"
                for trace_id, rows, total in connection.execute(query).fetchall():
                    found.setdefault(trace_id, {})[table] = rows, str(total)
    return found


def _check_windows(place: Place, manifest: Manifest, sizes: Mapping[str, int]) -> Iterator[Fault]:
    way_out = f"traceq dataset compact {quote(place.name)} judges its ranks anew"
    for run, number in sorted(stale_windows(manifest, sizes)):
        what = "what is known of its job is not made of the ranks that are there"
        yield Fault(folder_of(run, number), what, way_out)
    for window, reason in unreadable_windows(place, manifest, sizes):
        yield Fault(window.folder, reason, way_out)


def unreadable_windows(place: Place, manifest: Manifest, sizes: Mapping[str, int]) -> Iterator[tuple[Window, str]]:
    """Find windows whose files are there and damaged, with the reasons."""
    for window in manifest.windows:
        if all(file in sizes for file in files_of_window(window)):
            try:
                _read_window(place, manifest, window)
            except (StoreError, duckdb.Error) as error:
                yield window, f"cannot be read: {one_line(error)}"


def _read_window(place: Place, manifest: Manifest, window: Window) -> None:
    with TemporaryDirectory(prefix="traceq-verify-") as folder:
        catalogue = Path(folder) / "catalogue.duckdb"
        create_catalogue(catalogue, place, msgspec.structs.replace(manifest, windows=(window,)), ())
        with closing(connect(catalogue)) as connection:
            for table in window.tables:
                connection.execute(f"select sum(hash(t)) from {table} as t").fetchall()
            traces = place.address(window.folder, "trace.parquet")
            connection.execute("select sum(hash(t)) from read_parquet($1) as t", [traces]).fetchall()


def _suggest_ingest(place: Place, piece: Piece, made: MadePiece | None = None) -> str:
    name = quote(place.name)
    source = "TRACE" if made is None else quote(made.source)
    return (
        f"traceq ingest --force {source} -o {name}, or without the trace"
        f" traceq dataset drop {name} --run {quote(piece.run)} --window {piece.window} --rank {piece.rank}"
    )
