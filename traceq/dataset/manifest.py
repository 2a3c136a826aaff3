"""dataset.json: which pieces and windows there are. Readers see what it lists, and it is replaced as a whole."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from shlex import quote

import msgspec

from traceq.common.version import __version__
from traceq.database.connect import SCHEMA_VERSION, is_database, table_names
from traceq.dataset.place import Place, folder_of, is_address
from traceq.errors import SchemaMismatch, StoreError

NAME = "dataset.json"
VERSION = 1
# Of how steps are numbered (decision 0038): a change leaves ranks with other numbers than those that a dataset holds.
STEP_NUMBERING = 1


class Piece(msgspec.Struct, frozen=True):
    """The trace of one rank in one window, `size` bytes. `shape` is an index into Manifest.shapes.

    `begin` and `end` are ns since 1970, None if not known. `again` is the dataset's generation in which the piece
    replaced another one, whose files stay for current readers; else 0. `job_key` is a key that all traces of its run
    share, None where --run named the run.
    """

    trace_id: int
    run: str
    window: int
    rank: int
    sha256: str
    digest: str
    shape: int
    size: int
    begin: int | None = None
    end: int | None = None
    again: int = 0
    job_key: str | None = None

    @property
    def folder(self) -> str:
        """The piece's folder, relative to the dataset."""
        folder = folder_of(self.run, self.window, self.rank)
        return f"{folder}/{self.again}" if self.again else folder


class DatasetWindow(msgspec.Struct, frozen=True):
    """A window of a run: the number, folder and tables of its job, a hash of its pieces, and when it was judged (ISO 8601).

    `files` are hashes of the job's files by their names without ending, none in older datasets.
    """

    run: str
    window: int
    job: int
    folder: str
    tables: tuple[str, ...]
    made_of: str
    made_at: str = ""
    files: dict[str, str] = {}


class Manifest(msgspec.Struct, frozen=True):
    """The content of a dataset. `shapes` are sets of names of tables that hold rows, which most pieces have in common.

    `step_numbering` is STEP_NUMBERING of the traceq that made its pieces, 0 where steps were counted from 0 on each rank.
    """

    traceq_dataset: int = VERSION
    traceq: str = __version__
    schema: int = SCHEMA_VERSION
    generation: int = 0
    shapes: tuple[tuple[str, ...], ...] = ()
    pieces: tuple[Piece, ...] = ()
    windows: tuple[DatasetWindow, ...] = ()
    step_numbering: int = 0

    def __post_init__(self) -> None:
        if not all(0 <= piece.shape < len(self.shapes) for piece in self.pieces):
            raise ValueError("a piece has a shape that is not listed")

    def tables_of(self, piece: Piece) -> tuple[str, ...]:
        """Return the names of the tables in which the piece has rows."""
        return self.shapes[piece.shape]

    def pieces_of(self, run: str, window: int) -> list[Piece]:
        """Return the pieces of the run `run` in its window `window`."""
        return [piece for piece in self.pieces if (piece.run, piece.window) == (run, window)]


def is_dataset(source: str | Path) -> bool:
    """Return whether the source is a folder with a dataset in it, or an address (s3://...), which is taken for one."""
    if is_address(source):
        return bool(Place(str(source)))
    return (Path(source) / NAME).is_file()


def open_existing(name: str | Path) -> tuple[Place, Manifest]:
    """Return the place of this name and its dataset's manifest. Raises StoreError if it holds no dataset."""
    place = Place(str(name))
    if is_dataset(name) and (manifest := read_manifest(place)).generation:
        return place, manifest
    if not is_address(name) and is_database(Path(name)):
        raise StoreError(f"{name}: a trace database, not a dataset; convert it: traceq convert {Path(name)} -o job/")
    new = name if is_address(name) else f"{Path(name)}/"
    raise StoreError(f"{name}: there is no dataset; make one with: traceq ingest SOURCE -o {new}")


def read_manifest(place: Place) -> Manifest:
    """Return the dataset's manifest, an empty one if there is none yet.

    Raises SchemaMismatch if another version of traceq made the dataset, StoreError if the file is damaged or contradicts
    itself.
    """
    content = place.read(NAME)
    if content is None:
        return Manifest(step_numbering=STEP_NUMBERING)
    try:
        versions = msgspec.json.decode(content, type=_Versions)
        if versions.traceq_dataset == VERSION and versions.schema == SCHEMA_VERSION:
            found = msgspec.json.decode(content, type=Manifest)
            _refuse_contradictions(found)
            return found
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise StoreError(
            f"{place.name}: {NAME} is damaged, or not written by traceq: {error}; restore it, or ingest the traces again,"
            " into a new dataset"
        ) from error
    is_newer = (versions.traceq_dataset, versions.schema) > (VERSION, SCHEMA_VERSION)
    way_out = "upgrade traceq" if is_newer else "ingest the traces again, into a new dataset"
    raise SchemaMismatch(
        f"{place.name}: a dataset of version {versions.traceq_dataset} with schema version {versions.schema}, this traceq"
        f" understands {VERSION} and {SCHEMA_VERSION}; {way_out}"
    )


def _refuse_contradictions(manifest: Manifest) -> None:
    """Raise ValueError for what cannot be true of a dataset: things that are listed twice, or files outside of their folder."""
    windows = [(folder_of(window.run, window.window), window) for window in manifest.windows]
    listed = [f"trace {piece.trace_id}" for piece in manifest.pieces]
    listed += [piece.folder for piece in manifest.pieces] + [folder for folder, _ in windows]
    if twice := next((one for one, times in Counter(listed).items() if times > 1), None):
        raise ValueError(f"{twice} is listed twice")
    named = {*chain(*manifest.shapes), *chain(*(window.tables for _, window in windows))}
    if strange := named.difference(table_names()):
        raise ValueError(f"no table is called {min(strange)!r}")
    for folder, window in windows:
        if not re.fullmatch(rf"{re.escape(folder)}/job/[0-9]+", window.folder):
            raise ValueError(f"{window.folder!r} is not a folder of {folder}/job")


def find_unmatched(manifest: Manifest) -> set[tuple[str, int]]:
    """Return the windows (run, window) whose job was not judged, or was made of other pieces than there are."""
    made = {(window.run, window.window): window.made_of for window in manifest.windows}
    pieces: dict[tuple[str, int], list[Piece]] = {key: [] for key in made}
    for piece in manifest.pieces:
        pieces.setdefault((piece.run, piece.window), []).append(piece)
    return {key for key, found in pieces.items() if made.get(key) != digest_of(found)}


def check_windows(place: Place, manifest: Manifest) -> None:
    """Raise StoreError if a window's job was not made of the pieces that are there: reports would be wrong."""
    for key in sorted(find_unmatched(manifest)):
        raise StoreError(
            f"{place.name}: the results on the job in {folder_of(*key)} were made from other ranks than it has now;"
            f" traceq dataset compact {quote(place.name)} judges them again"
        )


def adopt_numbering(place: Place, known: Manifest, kept: Sequence[Piece]) -> Manifest:
    """Return the manifest with this traceq's numbering of steps, which the pieces in `kept` must have.

    Raises StoreError if their steps are numbered in another way: step 3 would be another one than in new pieces.
    """
    if kept and known.step_numbering != STEP_NUMBERING:
        raise StoreError(
            f"{place.name}: made by an older traceq, which numbered steps differently, so its {len(kept):,} traces do not fit new"
            " ones; nothing was written: ingest all traces again, into a new dataset"
        )
    return msgspec.structs.replace(known, step_numbering=STEP_NUMBERING)


class _Versions(msgspec.Struct):
    """The versions in a manifest, which are read before the rest."""

    traceq_dataset: int
    schema: int


def commit(
    place: Place,
    known: Manifest,
    pieces: Sequence[Piece],
    windows: Sequence[DatasetWindow],
    shapes: Sequence[tuple[str, ...]],
) -> Manifest:
    """Write the dataset's next manifest, with these pieces, windows and shapes, and return it.

    Raises StoreError if the dataset was changed since it was read as `known`.
    """
    now = read_manifest(place)
    if now.generation != known.generation:
        raise StoreError(f"{place.name}: was changed by someone else meanwhile; nothing was written, try again")
    new = Manifest(
        generation=known.generation + 1,
        shapes=tuple(shapes),
        pieces=tuple(sorted(pieces, key=lambda piece: piece.trace_id)),
        windows=tuple(sorted(windows, key=lambda window: (window.job, window.window))),
        step_numbering=known.step_numbering,
    )
    place.write(msgspec.json.encode(new), NAME)
    return new


def digest_of(pieces: Sequence[Piece]) -> str:
    """Return a hash of the pieces' content and trace_ids, the same in any order of pieces."""
    listed = sorted((piece.trace_id, piece.digest) for piece in pieces)
    return hashlib.sha256(repr(listed).encode()).hexdigest()
