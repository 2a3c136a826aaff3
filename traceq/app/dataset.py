"""Datasets: list what one holds, take traces out of it, and check it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from traceq.dataset import change, verify
from traceq.dataset.change import Compacted
from traceq.dataset.manifest import Manifest, Piece, open_existing
from traceq.dataset.verify import Fault, find_leftovers, stale_windows


class WindowListed(NamedTuple):
    """A time window in a dataset: its ranks, the bytes of their files, and when its job was last judged.

    `judged_at` is ISO 8601, empty if never; `is_fresh`: nothing has changed since.
    """

    run: str
    window: int
    ranks: list[int]
    bytes: int
    judged_at: str
    is_fresh: bool


class DatasetListing(NamedTuple):
    """The contents of a dataset, whose manifest has this `generation`. Sizes are bytes of all files.

    `unused_bytes` could be freed by `compact`; an ingest could resume with `waiting_bytes`.
    """

    name: str
    traceq: str
    schema: int
    generation: int
    windows: list[WindowListed]
    bytes: int
    unused_bytes: int
    waiting_bytes: int


def list_dataset(name: str) -> DatasetListing:
    """List the contents of a dataset. Raises StoreError if it is none, SchemaMismatch for another schema version."""
    place, manifest = open_existing(name)
    sizes = place.list_sizes()
    left = find_leftovers(place, manifest, sizes)
    unused, waiting = sum(left.useless.values()), sum(left.waiting.values())
    windows = list(_list_windows(manifest, stale_windows(manifest, sizes)))
    return DatasetListing(
        name=place.name,
        traceq=manifest.traceq,
        schema=manifest.schema,
        generation=manifest.generation,
        windows=windows,
        bytes=sum(sizes.values()),
        unused_bytes=unused,
        waiting_bytes=waiting,
    )


def _list_windows(manifest: Manifest, stale: set[tuple[str, int]]) -> Iterator[WindowListed]:
    """Yield the windows of the dataset, by run and number; `stale` are those whose job results are out of date."""
    of_window: dict[tuple[str, int], list[Piece]] = {}
    for piece in manifest.pieces:
        of_window.setdefault((piece.run, piece.window), []).append(piece)
    judged = {(window.run, window.window): window.made_at for window in manifest.windows}
    for (run, window), pieces in sorted(of_window.items()):
        key = run, window
        ranks, size = sorted(piece.rank for piece in pieces), sum(piece.size for piece in pieces)
        yield WindowListed(run, window, ranks, size, judged.get(key, ""), key not in stale)


def drop_from_dataset(
    name: str, run: str, *, window: int | None = None, rank: int | None = None, wait: float = 0
) -> tuple[Piece, ...]:
    """Remove a run, or one of its windows or ranks, from the dataset, and return the removed pieces.

    `wait` is how many seconds to wait for another writer. Raises WrongUse when there is no such piece.
    """
    return change.drop(open_existing(name)[0], run, window, rank, wait)


def compact_dataset(name: str, *, everything: bool = False, wait: float = 0) -> Compacted:
    """Remove files that the dataset no longer needs, and judge windows anew whose job results are stale or damaged.

    Files of an interrupted ingest stay, so that it can resume, unless `everything` is set. `wait` is how many seconds
    to wait for another writer.
    """
    return change.compact(open_existing(name)[0], wait, everything=everything)


def verify_dataset(name: str) -> tuple[int, list[Fault]]:
    """Return the number of pieces in the dataset, and all faults found by reading every row."""
    place, manifest = open_existing(name)
    return len(manifest.pieces), list(verify.find_faults(place))
