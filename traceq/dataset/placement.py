"""Give each piece its run, window and rank.

Without --run, traces that a database would judge together have one run; windows go by the time of the recording.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias
from urllib.parse import quote

from traceq.dataset.manifest import Piece
from traceq.dataset.piece import MadePiece
from traceq.errors import WrongUse

# Bytes that file systems and object stores allow the name of a folder, which run=NAME is.
_LONGEST = 255

# Where no folder has a name that can be used.
_NAME = "traces"


# Begin and end (ns), rank, folder and trace_id.
_Span: TypeAlias = tuple[int | None, int | None, int | None, str, int]


class PieceRun(NamedTuple):
    """The name of a piece's run, and the key that all traces of the run share, None where --run named the run."""

    name: str
    key: str | None


def check_run(name: str) -> None:
    """Raise WrongUse if the run's name is too long for a folder."""
    if is_too_long(name):
        raise WrongUse(f"--run {name[:40]}...: is too long to name a folder; use at most {_LONGEST - 4} ASCII letters.")


def is_too_long(name: str) -> bool:
    """Return whether the run's name is too long for a folder."""
    return len(f"run={quote(name, safe=' ')}") > _LONGEST


def _runs_of(known: Sequence[Piece], made: Sequence[MadePiece], stays: Mapping[int, Piece]) -> list[PieceRun]:
    """Return the run of each new piece, in order; pieces in `stays`, by trace_id, keep their run.

    Pieces without --run share a run by world size, else by folder, as jobs in a database do; also by folder where a
    rank occurs twice at one time. The new run has the name of the folder that holds all of its traces.
    """
    unnamed = [piece for piece in made if piece.run is None and piece.trace_id not in stays]
    keys = _find_keys(known, unnamed)
    names = _choose_names(known, made, unnamed, keys)
    found = []
    for piece in made:
        if piece.trace_id in stays:
            found.append(PieceRun(stays[piece.trace_id].run, stays[piece.trace_id].job_key))
        elif piece.run is not None:
            found.append(PieceRun(piece.run, None))
        else:
            found.append(PieceRun(names[keys[piece.trace_id]], keys[piece.trace_id]))
    return found


def _find_keys(known: Sequence[Piece], unnamed: Sequence[MadePiece]) -> dict[int, str]:
    """Return for each unnamed piece, by trace_id, the key that the traces of its run have in common."""
    there = {piece.job_key for piece in known}
    keys = {}
    for key in {piece.job_key for piece in unnamed}:
        of_key = [piece for piece in unnamed if piece.job_key == key]
        repeated = _find_repeated([piece for piece in known if piece.job_key == key], of_key)
        for piece in of_key:
            alone = f"{key} in {_folder_of(piece)}"
            keys[piece.trace_id] = alone if piece.trace_id in repeated or alone in there else str(key)
    return keys


def _find_repeated(known: Iterable[Piece], made: Sequence[MadePiece]) -> set[int]:
    """Return the trace_ids of traces recorded while one rank occurs in several folders: jobs that ran side by side."""
    spans: list[_Span] = [(piece.begin, piece.end, piece.rank, "", piece.trace_id) for piece in known]
    spans += [(piece.begin, piece.end, _rank_of(piece), _folder_of(piece), piece.trace_id) for piece in made]
    found: set[int] = set()
    for together in _group_by_time(spans):
        folders = {(rank, folder) for _, _, rank, folder, _ in together if rank is not None}
        if len(folders) > len({rank for rank, _ in folders}):
            found.update(trace_id for *_, trace_id in together)
    return found


def _group_by_time(spans: Sequence[_Span]) -> Iterator[list[_Span]]:
    """Yield groups of traces whose time spans overlap, directly or through others; traces without times are left out."""
    together: list[_Span] = []
    last = 0
    timed = [
        (span[0], span[1], place) for place, span in enumerate(spans) if span[0] is not None and span[1] is not None
    ]
    for begin, end, place in sorted(timed):
        if together and begin > last:
            yield together
            together = []
        together.append(spans[place])
        last = max(last, end)
    if together:
        yield together


def _rank_of(piece: MadePiece) -> int | None:
    """Return the rank in the trace, else the one in its file's name, else None."""
    return piece.file_rank if piece.rank is None else piece.rank


def _choose_names(
    known: Sequence[Piece], made: Sequence[MadePiece], unnamed: Sequence[MadePiece], keys: Mapping[int, str]
) -> dict[str, str]:
    """Return the name of the run by job key, for known pieces and for `unnamed`; `keys` gives the key of a trace_id.

    Known names stay. A new one is the folder that the run's traces have in common, _NAME if there is none or it is too
    long, with a number if it is taken.
    """
    names = {piece.job_key: piece.run for piece in known if piece.job_key is not None}
    taken = {piece.run for piece in known} | {piece.run for piece in made}
    folders: dict[str, list[str]] = {}
    for piece in unnamed:
        folders.setdefault(keys[piece.trace_id], []).append(_folder_of(piece))
    for key in sorted(folders.keys() - names.keys()):
        wanted = Path(_common_folder(folders[key])).name or _NAME
        wanted = _NAME if is_too_long(f"{wanted}-{len(taken)}") else wanted
        free = (f"{wanted}-{again}" if again else wanted for again in range(len(taken) + 1))
        names[key] = next(name for name in free if name not in taken)
        taken.add(names[key])
    return names


def _folder_of(piece: MadePiece) -> str:
    """Return the folder of the trace from which the piece was made."""
    return os.path.dirname(piece.source)  # noqa: PTH120 - of another machine, maybe


def _common_folder(folders: Sequence[str]) -> str:
    """Return the folder that holds all of these; empty if some are relative."""
    try:
        return os.path.commonpath(folders)
    except ValueError:  # some are relative
        return ""


class PlacedPiece(NamedTuple):
    """The run, window and rank assigned to a piece."""

    run: PieceRun
    window: int
    rank: int


def place_pieces(known: Sequence[Piece], made: Sequence[MadePiece], stays: Mapping[int, Piece]) -> list[PlacedPiece]:
    """Return run, window and rank of each new piece beside the `known` ones.

    Pieces in `stays`, by trace_id, keep theirs. Traces of a run recorded at overlapping times are in one window; a
    trace at another time, or whose rank is taken in that window, opens a new one. A trace without a time of day goes to
    the first window without its rank. A rank that neither the trace nor its file's name tells is the first free one.
    """
    ranks: dict[tuple[str, int], set[int]] = {}
    spans: dict[tuple[str, int], tuple[int, int]] = {}
    runs = _runs_of(known, made, stays)
    for piece in (*known, *stays.values()):
        _take_place(ranks, spans, (piece.run, piece.window), piece.rank, piece.begin, piece.end)
    found: dict[int, PlacedPiece] = {}
    ranked = [_rank_of(piece) for piece in made]
    # those with a rank first: it is theirs
    order = sorted(range(len(made)), key=lambda at: (ranked[at] is None, made[at].begin or 0, made[at].trace_id))
    for place in order:
        new, rank, run = made[place], ranked[place], runs[place]
        if new.trace_id in stays:
            found[place] = PlacedPiece(run, stays[new.trace_id].window, stays[new.trace_id].rank)
            continue
        window = _choose_window(ranks, spans, run.name, new, rank)
        if rank is None:
            taken = ranks.get((run.name, window), set())
            rank = next(free for free in range(len(taken) + 1) if free not in taken)
        _take_place(ranks, spans, (run.name, window), rank, new.begin, new.end)
        found[place] = PlacedPiece(run, window, rank)
    return [found[place] for place in range(len(made))]


def _choose_window(
    ranks: dict[tuple[str, int], set[int]],
    spans: dict[tuple[str, int], tuple[int, int]],
    run: str,
    piece: MadePiece,
    rank: int | None,
) -> int:
    """Return the run's first window at the piece's time that lacks the rank, else a new one.

    A piece without times goes to the first window without its rank, or to a new one if it has no rank.
    """
    windows = sorted(window for of_run, window in ranks if of_run == run)
    free = [window for window in windows if rank is None or rank not in ranks[run, window]]
    if piece.begin is None or piece.end is None:
        at_once = free if rank is not None else []
    else:
        timed = [(window, spans[run, window]) for window in free if (run, window) in spans]
        at_once = [window for window, (begin, end) in timed if piece.begin <= end and begin <= piece.end]
    return at_once[0] if at_once else (max(windows) + 1 if windows else 0)


def _take_place(
    ranks: dict[tuple[str, int], set[int]],
    spans: dict[tuple[str, int], tuple[int, int]],
    key: tuple[str, int],
    rank: int,
    begin: int | None,
    end: int | None,
) -> None:
    """Note that the rank is in the window `key` (run, window), whose time span may grow by it."""
    ranks.setdefault(key, set()).add(rank)
    if begin is not None and end is not None:
        before = spans.get(key, (begin, end))
        spans[key] = min(before[0], begin), max(before[1], end)
