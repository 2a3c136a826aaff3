"""Check the files of a dataset before they are read: each is what was written, of the piece that the manifest lists.

Compressed pages have no checksum: of a damaged file DuckDB may read other rows without a word. Object stores have checksums
of their own, and reading a file twice costs there: only files of this machine are checked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from pathlib import Path
from shlex import quote

from traceq.dataset.manifest import DatasetWindow, Manifest, Piece
from traceq.dataset.piece import NAME, MadePiece, hash_file, read_piece
from traceq.dataset.place import Place
from traceq.errors import StoreError

DAMAGED = "is damaged: its content is not what was written"

# What this process has found, by the file (path, times and size) and for a table's file the digest that it should have.
_records: dict[tuple[str | int, ...], MadePiece] = {}
_sound: set[tuple[str | int, ...]] = set()


def check_piece(place: Place, manifest: Manifest, piece: Piece) -> MadePiece:
    """Return the record of the piece. Raises StoreError if it is missing, or that of another piece than the manifest lists."""
    made = _read_record(place, piece.folder)
    where = f"{place.name}: {piece.folder}/{NAME}"
    if made is None:
        raise StoreError(f"{where} is missing, or of another version of traceq; {suggest_ingest(place, piece)}")
    if differs := list_differences(manifest, piece, made):
        raise StoreError(
            f"{where} has another {', '.join(differs)} than {place.name} lists: it belongs to another trace, or was changed;"
            f" {suggest_ingest(place, piece, made)}"
        )
    return made


def check_files(
    place: Place, manifest: Manifest, pieces: Collection[Piece], windows: Collection[DatasetWindow]
) -> Callable[[str], bool]:
    """Return a function that is True where the files of a table are sound: those of these pieces, and of these windows' jobs.

    It raises StoreError, naming the file, where one is not what was written. A process reads each file once, and again
    after it changed. Files whose digest is not known (older datasets) and those of object stores pass.
    """
    # which another process can be given
    return partial(_are_sound, place, manifest, tuple(pieces), tuple(windows), {}, {})


def _are_sound(
    place: Place,
    manifest: Manifest,
    pieces: Collection[Piece],
    windows: Collection[DatasetWindow],
    records: dict[int, MadePiece],
    faults: dict[str, str | None],
    table: str,
) -> bool:
    """Do what the function of check_files does; `records` of pieces by trace_id, and `faults` by table, are remembered."""
    if not place.is_local:
        return True
    if table not in faults:
        try:
            for piece in pieces:
                if table in manifest.tables_of(piece):
                    if piece.trace_id not in records:
                        records[piece.trace_id] = check_piece(place, manifest, piece)
                    made = records[piece.trace_id]
                    _check_file(place, piece.folder, table, made.files, suggest_ingest(place, piece, made))
            for window in windows:
                if table in window.tables:
                    _check_file(place, window.folder, table, window.files, suggest_compact(place))
            faults[table] = None
        except StoreError as error:  # which DuckDB would ask for again and again
            faults[table] = str(error)
    if fault := faults[table]:
        raise StoreError(fault)
    return True


def check_traces(place: Place, windows: Iterable[DatasetWindow]) -> None:
    """Raise StoreError if the rows of all ranks, which stand beside a window's job, are not those that were written."""
    for window in windows if place.is_local else ():
        _check_file(place, window.folder, "trace", window.files, suggest_compact(place))


def _read_record(place: Place, folder: str) -> MadePiece | None:
    """Return what read_piece does, from memory where the file is as it was."""
    place.refuse_links(folder, NAME)
    state = _state_of(place, folder, NAME)
    made = _records.get(state) or read_piece(place, folder)
    if state and made:
        _records[state] = made
    return made


def _state_of(place: Place, folder: str, name: str) -> tuple[str | int, ...]:
    """Return what differs when the local file changes: path, times and size; empty if it is not there."""
    path = place.path(folder, name)
    try:
        facts = Path(path).stat()
    except OSError:
        return ()
    return path, facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size


def _check_file(place: Place, folder: str, table: str, digests: dict[str, str], way_out: str) -> None:
    """Raise StoreError if the table's file is a link, or damaged."""
    name = f"{table}.parquet"
    place.refuse_links(folder, name)
    # before it is read: what is written to it meanwhile changes it
    seen = (*_state_of(place, folder, name), digests.get(table, ""))
    if seen in _sound:
        return
    if is_damaged(place, folder, table, digests):
        raise StoreError(f"{place.name}: {folder}/{table}.parquet {DAMAGED}; {way_out}")
    _sound.add(seen)


def is_damaged(place: Place, folder: str, table: str, digests: dict[str, str]) -> bool:
    """Return whether the table's file has another digest than the one in `digests`, if any.

    Raises StoreError if it is a link.
    """
    place.refuse_links(folder, f"{table}.parquet")
    path = Path(place.path(folder, f"{table}.parquet"))
    # a file that is missing DuckDB names as well
    return table in digests and path.is_file() and hash_file(path) != digests[table]


def list_differences(manifest: Manifest, piece: Piece, made: MadePiece) -> list[str]:
    """Return the names of facts that the piece's record and the manifest state differently."""
    said = {
        "trace_id": (made.trace_id, piece.trace_id),
        "run": (made.run or piece.run, piece.run),
        "sha256": (made.sha256, piece.sha256),
        "digest": (made.digest, piece.digest),
        "tables": (sorted(made.tables), sorted(manifest.tables_of(piece))),
    }
    return [name for name, (one, other) in said.items() if one != other]


def suggest_ingest(place: Place, piece: Piece, made: MadePiece | None = None) -> str:
    """Return the commands that repair a piece: ingest its trace again, or drop it."""
    name = quote(place.name)
    source = "TRACE" if made is None else quote(made.source)
    return (
        f"traceq ingest --force {source} -o {name}, or without the trace"
        f" traceq dataset drop {name} --run {quote(piece.run)} --window {piece.window} --rank {piece.rank}"
    )


def suggest_compact(place: Place) -> str:
    """Return the command that makes the jobs of damaged windows anew."""
    return f"traceq dataset compact {quote(place.name)} judges its ranks again"
