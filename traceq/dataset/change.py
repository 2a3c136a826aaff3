"""Changing a dataset without traces: what is dropped, and what is cleared away."""

from __future__ import annotations

from typing import NamedTuple

from traceq.dataset.ingest import STAGING, refill_windows, replace_pieces
from traceq.dataset.lock import lock_for_writing
from traceq.dataset.manifest import Manifest, Piece, commit, read_manifest
from traceq.dataset.place import Place
from traceq.dataset.verify import files_of_piece, find_leftovers, stale_windows, unreadable_windows
from traceq.errors import WrongUse

_LISTED = 10


class Compacted(NamedTuple):
    """The result of compacting: files removed and their bytes, windows judged anew, and files kept for an unfinished ingest."""

    files: int
    size: int
    judged: tuple[tuple[str, int], ...]
    waiting: int
    waiting_size: int


def drop(place: Place, run: str, window: int | None, rank: int | None, wait: float) -> tuple[Piece, ...]:
    """Remove pieces of a run (all, or of one window or rank), judge their windows anew, and return the removed pieces.

    `wait` is how many seconds to wait for another writer. Raises WrongUse when there is no such piece.
    """
    with lock_for_writing(place, wait) as check:
        known = read_manifest(place)
        of_window = [piece for piece in known.pieces if piece.run == run and window in (None, piece.window)]
        gone = [piece for piece in of_window if rank in (None, piece.rank)]
        if not gone:
            raise WrongUse(
                f"{place.name}: {_describe_pieces(run, window, rank)} is not there; there {_describe_contents(known, run)}."
            )
        kept = [piece for piece in known.pieces if piece not in gone]
        touched = {(piece.run, piece.window) for piece in gone}
        windows = refill_windows(place, replace_pieces(known, kept, known.shapes), touched)
        check()
        commit(place, known, kept, windows, known.shapes)
        files = {file for piece in gone for file in files_of_piece(known, piece)}
        jobs = {other.folder for other in known.windows if (other.run, other.window) in touched}
        place.remove_files(path for path in place.list_sizes() if path in files or path.rpartition("/")[0] in jobs)
    return tuple(gone)


def compact(place: Place, wait: float, *, everything: bool = False) -> Compacted:
    """Remove files that the dataset does not use, and judge stale or damaged windows anew.

    With `everything`, also remove pieces of an unfinished ingest. `wait` is how many seconds to wait for another
    writer.
    """
    with lock_for_writing(place, wait) as check:
        known = read_manifest(place)
        sizes = place.list_sizes()
        stale = stale_windows(known, sizes)
        stale |= {(damaged.run, damaged.window) for damaged, _ in unreadable_windows(place, known, sizes)}
        if stale:
            windows = refill_windows(place, known, stale)
            check()
            known = commit(place, known, known.pieces, windows, known.shapes)
        left = find_leftovers(place, known, place.list_sizes())
        removed = {**left.useless, **(left.waiting if everything else {})}
        check()
        place.remove_files(removed)
        waiting = {} if everything else left.waiting
        if not waiting:
            place.remove(STAGING)
    return Compacted(len(removed), sum(removed.values()), tuple(sorted(stale)), len(waiting), sum(waiting.values()))


def _describe_pieces(run: str, window: int | None, rank: int | None) -> str:
    """Return the asked pieces as text: run 'a', window 0, rank 3."""
    numbers = [f"{what} {number}" for what, number in (("window", window), ("rank", rank)) if number is not None]
    return ", ".join([f"run {run!r}", *numbers])


def _describe_contents(known: Manifest, run: str) -> str:
    """Return the windows of the run as text, or the runs of the dataset if it has no such run."""
    windows = sorted({piece.window for piece in known.pieces if piece.run == run})
    if windows:
        return f"are the windows {', '.join(map(str, windows))} of the run (traceq dataset list)"
    runs = sorted({piece.run for piece in known.pieces})
    more = ", ..." if len(runs) > _LISTED else ""
    return f"are the runs {', '.join(map(repr, runs[:_LISTED]))}{more}" if runs else "is nothing in it"
