"""Find files of a dataset that nothing refers to: pieces that were replaced or never added, older jobs, parts of files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from traceq.dataset import job_summary, lock
from traceq.dataset import manifest as manifests
from traceq.dataset import piece as pieces
from traceq.dataset.ingest import STAGING
from traceq.dataset.manifest import Manifest, Piece, Window, digest_of
from traceq.dataset.place import PART, Place
from traceq.errors import StoreError

# Nothing else is touched: it is not traceq's.
_OURS = re.compile(
    rf"(?:run=[^/]+/window=\d+/(?:rank=\d+(?:/\d+)?|job/\d+)|{re.escape(STAGING)}/[^/]+)/[^/]+"
    rf"|(?:{re.escape(manifests.NAME)}|{re.escape(lock.NAME)}|{lock.CLOCKS}){PART}|{lock.CLOCKS}"
)


class Leftovers(NamedTuple):
    """Sizes of files (bytes) by path: of useless ones, and of pieces of an unfinished ingest that can still be added."""

    useless: Mapping[str, int]
    waiting: Mapping[str, int]


def find_leftovers(place: Place, manifest: Manifest, sizes: Mapping[str, int]) -> Leftovers:
    """Find leftovers among the files of a dataset, whose `sizes` are given."""
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
    """Return the files of a piece."""
    return [f"{piece.folder}/{table}.parquet" for table in manifest.tables(piece)] + [f"{piece.folder}/{pieces.NAME}"]


def files_of_window(window: Window) -> list[str]:
    """Return the files of the job of a window."""
    return [f"{window.folder}/{table}.parquet" for table in (*window.tables, "trace")] + [
        f"{window.folder}/{job_summary.NAME}"
    ]


def stale_windows(manifest: Manifest, sizes: Mapping[str, int]) -> set[tuple[str, int]]:
    """Find windows whose job was made of other pieces than there are now, or whose files are gone."""
    jobs = {(window.run, window.window): window for window in manifest.windows}
    of_window: dict[tuple[str, int], list[Piece]] = {key: [] for key in jobs}
    for piece in manifest.pieces:
        of_window.setdefault((piece.run, piece.window), []).append(piece)
    return {
        key
        for key, found in of_window.items()
        if key not in jobs
        or jobs[key].made_of != digest_of(found)
        or not all(file in sizes for file in files_of_window(jobs[key]))
    }


def _can_be_added(place: Place, folder: str, there: set[str]) -> bool:
    try:
        made = pieces.read_piece(place, folder)
    except StoreError:
        return False
    return made is not None and made.sha256 not in there
