"""Check that a dataset holds what it says: files, rows and digests of each piece, and jobs that are made of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import duckdb

from traceq.database.failures import one_line
from traceq.dataset import lock
from traceq.dataset import manifest as manifests
from traceq.dataset.catalogue import open_catalogue
from traceq.dataset.ingest import STAGING
from traceq.dataset.intact import DAMAGED, check_traces, is_damaged, list_differences, suggest_compact, suggest_ingest
from traceq.dataset.jobs import SUMMARY
from traceq.dataset.manifest import DatasetWindow, Manifest, Piece, find_unmatched, read_manifest
from traceq.dataset.piece import NAME, digest_of_sums, digest_query, read_piece
from traceq.dataset.place import PART, Place, folder_of
from traceq.errors import StoreError

# Pieces that are read at once; where one is damaged, all of them are read again, one by one.
_AT_ONCE = 64

Sums = Mapping[int, Mapping[str, tuple[int, str]]]

# Nothing else is touched: it is not traceq's.
_OURS = re.compile(
    rf"(?:run=[^/]+/window=\d+/(?:rank=\d+(?:/\d+)?|job/\d+)|{re.escape(STAGING)}/[^/]+)/[^/]+"
    rf"|(?:{re.escape(manifests.NAME)}|{re.escape(lock.NAME)}|{lock.CLOCKS}){PART}|{lock.CLOCKS}"
)


class Leftovers(NamedTuple):
    """Sizes of files (bytes) by path: `useless` ones, and `waiting` pieces of an unfinished ingest that can still be added."""

    useless: Mapping[str, int]
    waiting: Mapping[str, int]


def find_leftovers(place: Place, manifest: Manifest, sizes: Mapping[str, int]) -> Leftovers:
    """Return traceq's files in the dataset that the manifest does not list; `sizes` are all files' bytes by path."""
    known = {file for piece in manifest.pieces for file in files_of_piece(manifest, piece)}
    jobs = {window.folder for window in manifest.windows}
    others = {path: size for path, size in sizes.items() if path not in known and path.rpartition("/")[0] not in jobs}
    left = {path: size for path, size in others.items() if _OURS.fullmatch(path)}
    there = {piece.sha256 for piece in manifest.pieces}
    folders = {path.rpartition("/")[0] for path in left if path.startswith(f"{STAGING}/")}
    wanted = {folder for folder in folders if _can_be_added(place, folder, there)}
    waiting = {path: size for path, size in left.items() if path.rpartition("/")[0] in wanted}
    return Leftovers({path: size for path, size in left.items() if path not in waiting}, waiting)


def files_of_piece(manifest: Manifest, piece: Piece) -> list[str]:
    """Return the paths in the dataset of a piece's files: a Parquet file for each of its tables, and piece.json."""
    return [f"{piece.folder}/{table}.parquet" for table in manifest.tables_of(piece)] + [f"{piece.folder}/{NAME}"]


def files_of_window(window: DatasetWindow) -> list[str]:
    """Return the paths in the dataset of the files of a window's job: its tables, the traces of all ranks, and the summary."""
    return [f"{window.folder}/{table}.parquet" for table in (*window.tables, "trace")] + [f"{window.folder}/{SUMMARY}"]


def stale_windows(manifest: Manifest, sizes: Mapping[str, int]) -> set[tuple[str, int]]:
    """Return the windows (run, window) whose job was not judged, lacks files, or was made from other pieces than there are."""
    lacking = {
        (window.run, window.window)
        for window in manifest.windows
        if not all(file in sizes for file in files_of_window(window))
    }
    return find_unmatched(manifest) | lacking


def _can_be_added(place: Place, folder: str, there: set[str]) -> bool:
    """Return whether the folder holds a finished piece of a trace that the dataset does not list yet."""
    try:
        made = read_piece(place, folder)
    except StoreError:
        return False
    return made is not None and made.sha256 not in there


class Fault(NamedTuple):
    """A fault of a file or folder of a dataset (`where`), in words, and the command that repairs it."""

    where: str
    what: str
    way_out: str


def find_faults(place: Place) -> Iterator[Fault]:
    """Yield every fault of the dataset. Raises StoreError where there is no dataset at all."""
    manifest = read_manifest(place)
    sizes = place.list_sizes()
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


def _check_files(place: Place, manifest: Manifest, piece: Piece, sizes: Mapping[str, int]) -> Iterator[Fault]:
    """Yield faults of a piece's piece.json, and of the names and sizes of its files."""
    files = files_of_piece(manifest, piece)
    missing = [file for file in files if file not in sizes]
    for file in [piece.folder] if missing == files else missing:
        yield Fault(file, "is missing", suggest_ingest(place, piece))
    if missing:
        return
    try:
        made = read_piece(place, piece.folder)
    except StoreError as error:
        yield Fault(f"{piece.folder}/{NAME}", str(error), suggest_ingest(place, piece))
        return
    if made is None:
        yield Fault(f"{piece.folder}/{NAME}", "was written by another version of traceq", suggest_ingest(place, piece))
        return
    if differs := list_differences(manifest, piece, made):
        what = f"has another {', '.join(differs)} than {place.name} lists"
        yield Fault(f"{piece.folder}/{NAME}", what, suggest_ingest(place, piece, made))
        return
    size = sum(sizes[file] for file in files if not file.endswith(NAME))
    if size != piece.size:
        yield Fault(piece.folder, f"has {size:,} bytes, not {piece.size:,}", suggest_ingest(place, piece, made))
        return
    for table in manifest.tables_of(piece) if place.is_local else ():
        if is_damaged(place, piece.folder, table, made.files):
            yield Fault(f"{piece.folder}/{table}.parquet", DAMAGED, suggest_ingest(place, piece, made))


def _check_content(place: Place, manifest: Manifest, pieces: Sequence[Piece]) -> Iterator[Fault]:
    """Yield a fault for each piece whose rows do not have the digest that the manifest lists."""
    try:
        sums = _sum_hashes(place, manifest, pieces)
    except (StoreError, duckdb.Error) as error:
        if len(pieces) == 1:
            yield Fault(pieces[0].folder, f"cannot be read: {one_line(error)}", suggest_ingest(place, pieces[0]))
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
            yield Fault(piece.folder, _describe_difference(place, piece, found), suggest_ingest(place, piece))


def _describe_difference(place: Place, piece: Piece, found: Mapping[str, tuple[int, str]]) -> str:
    """Return words on how the rows found differ from those written: the first table with another number of rows, if any."""
    made = read_piece(place, piece.folder)
    rows = {} if made is None else made.tables
    others = [table for table, number in rows.items() if found.get(table, (0, ""))[0] != number]
    if not others:
        return "its rows are not those that were written: their digest is another one"
    return f"{others[0]} has {found.get(others[0], (0, ''))[0]:,} rows, not {rows[others[0]]:,}"


def _sum_hashes(place: Place, manifest: Manifest, pieces: Sequence[Piece]) -> Sums:
    """Return the number of rows and the sum of their hashes, by trace_id and table."""
    found: dict[int, dict[str, tuple[int, str]]] = {piece.trace_id: {} for piece in pieces}
    tables = sorted({table for piece in pieces for table in manifest.tables_of(piece)})
    with open_catalogue(place, manifest, pieces) as connection:
        for table in tables:
            query = f"select trace_id, count(*), sum(hash(t)) from ({digest_query(table)}) as t group by trace_id"
            for trace_id, rows, total in connection.execute(query).fetchall():
                found.setdefault(trace_id, {})[table] = rows, str(total)
    return found


def _check_windows(place: Place, manifest: Manifest, sizes: Mapping[str, int]) -> Iterator[Fault]:
    """Yield a fault for each window whose job is out of date or cannot be read."""
    way_out = suggest_compact(place)
    for run, number in sorted(stale_windows(manifest, sizes)):
        what = "the results on its job were made from other ranks than it has now"
        yield Fault(folder_of(run, number), what, way_out)
    for window, reason in unreadable_windows(place, manifest, sizes):
        yield Fault(window.folder, reason, way_out)


def unreadable_windows(
    place: Place, manifest: Manifest, sizes: Mapping[str, int]
) -> Iterator[tuple[DatasetWindow, str]]:
    """Yield the windows whose job files exist but cannot be read, with the reasons."""
    for window in manifest.windows:
        if all(file in sizes for file in files_of_window(window)):
            try:
                _read_window(place, manifest, window)
            except (StoreError, duckdb.Error) as error:
                reason = one_line(error).removesuffix(f"; {suggest_compact(place)}")
                yield window, f"cannot be read: {reason}"


def _read_window(place: Place, manifest: Manifest, window: DatasetWindow) -> None:
    """Read all rows of the window's job. Raises StoreError or duckdb.Error if a file is damaged."""
    with open_catalogue(place, manifest, (), [window]) as connection:
        for table in window.tables:
            connection.execute(f"select sum(hash(t)) from {table} as t").fetchall()
        check_traces(place, [window])
        traces = place.duckdb_path(window.folder, "trace.parquet")
        connection.execute("select sum(hash(t)) from read_parquet($1) as t", [traces]).fetchall()
