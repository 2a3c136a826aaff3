"""Which run, window and rank a piece belongs to, the window by when it was recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from traceq.dataset.manifest import Piece
from traceq.dataset.piece import Made
from traceq.dataset.runs import Run, runs_of


class Placed(NamedTuple):
    """Where a piece belongs."""

    run: Run
    window: int
    rank: int


def placed(known: Sequence[Piece], made: Sequence[Made], stays: Mapping[int, Piece]) -> list[Placed]:
    """Where each piece that was made belongs, beside those that the dataset holds; by trace_id `stays` is where some were before.

    What was recorded while others of its run were is in their window, what began when nobody was recorded any more in a new
    one. A trace without a time of day, or whose rank is there already, is in the first window without its rank. A rank
    that neither the trace nor the name of its file says is the first that is free.
    """
    ranks: dict[tuple[str, int], set[int]] = {}
    spans: dict[tuple[str, int], tuple[int, int]] = {}
    runs = runs_of(known, made, stays)
    for each in (*known, *stays.values()):
        _take(ranks, spans, (each.run, each.window), each.rank, each.begin, each.end)
    found: dict[int, Placed] = {}
    ranked = [piece.rank if piece.rank is not None else piece.file_rank for piece in made]
    # those with a rank first: it is theirs
    order = sorted(range(len(made)), key=lambda at: (ranked[at] is None, made[at].begin or 0, made[at].trace_id))
    for place in order:
        piece, rank, run = made[place], ranked[place], runs[place]
        if piece.trace_id in stays:
            found[place] = Placed(run, stays[piece.trace_id].window, stays[piece.trace_id].rank)
            continue
        window = _window(ranks, spans, run.name, piece, rank)
        if rank is None:
            taken = ranks.get((run.name, window), set())
            rank = next(each for each in range(len(taken) + 1) if each not in taken)
        _take(ranks, spans, (run.name, window), rank, piece.begin, piece.end)
        found[place] = Placed(run, window, rank)
    return [found[place] for place in range(len(made))]


def _window(
    ranks: dict[tuple[str, int], set[int]],
    spans: dict[tuple[str, int], tuple[int, int]],
    run: str,
    piece: Made,
    rank: int | None,
) -> int:
    windows = sorted(window for of_run, window in ranks if of_run == run)
    free = [each for each in windows if rank is None or rank not in ranks[run, each]]
    if piece.begin is None or piece.end is None:
        at_once = [each for each in free if rank is not None]
    else:
        timed = [(each, spans[run, each]) for each in free if (run, each) in spans]
        at_once = [each for each, (begin, end) in timed if piece.begin <= end and begin <= piece.end]
    return at_once[0] if at_once else (max(windows) + 1 if windows else 0)


def _take(
    ranks: dict[tuple[str, int], set[int]],
    spans: dict[tuple[str, int], tuple[int, int]],
    key: tuple[str, int],
    rank: int,
    begin: int | None,
    end: int | None,
) -> None:
    ranks.setdefault(key, set()).add(rank)
    if begin is not None and end is not None:
        before = spans.get(key, (begin, end))
        spans[key] = min(before[0], begin), max(before[1], end)
