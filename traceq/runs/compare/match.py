"""Match the parts of one run with those of the other: by name and shape, then ever more tolerant."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction

import msgspec
from msgspec.structs import replace

from traceq.runs.compare.comparison import Kind
from traceq.runs.compare.names import canonical_name, family_name, function_name, region_of

_Pair = tuple[Fraction, Fraction]

PAGEABLE = " pageable"
"""At the end of the shape of a copy from or to pageable memory of the host (item.sql)."""

_AS_SMALL = 2
_GRAPH = re.compile(r"CUDA ?graph", re.IGNORECASE)
_CALL = re.compile(r"^(?:cuda|hip)(?=[A-Z])")


class MatchPiece(msgspec.Struct, frozen=True):
    """A kernel, copy, collective or wait within a ledger category on one side; `count` and `dur` (ns) per step, exactly.

    `run` is the number of its run on its side. `error` is the standard error of `dur`, ns, with `freedom` degrees of
    freedom; None where it is not known. `role` is the kernel's purpose in the program (attention, norms, ...), from any
    library.
    """

    category: str
    name: str | None
    shape: str | None
    operator: str | None
    count: Fraction
    dur: Fraction
    run: int = 0
    error: float | None = None
    freedom: int = 0
    role: str | None = None


class Matched(msgspec.Struct, frozen=True):
    """Pieces of both sides that belong together; each pair holds the base's value first, then the new one's.

    Names are sorted by time, longest first; empty on a side that lacks the part. `pieces` are the matched pieces.
    """

    kind: Kind
    names: tuple[tuple[str, ...], tuple[str, ...]]
    shapes: tuple[str | None, str | None]
    operator: str | None
    count: _Pair
    dur: _Pair
    pieces: tuple[tuple[MatchPiece, ...], tuple[MatchPiece, ...]]
    role: str | None = None


# What two named pieces must have in common to be one: of the name and the piece; None matches nothing.
Key = Callable[[str, MatchPiece], Hashable | None]


def match_pieces(base: Sequence[MatchPiece], new: Sequence[MatchPiece]) -> list[Matched]:
    """Match the pieces of both sides; every piece is in exactly one match.

    They are matched in this order: an offloaded region whose line moved; the same name and launch shape; the same copy
    of other memory; the same name; the same name but for numbers that compilers make up; the same call of another
    maker's runtime; another kernel for the same operator; the same function with other types; another kernel of the
    same role. The rest is new or has vanished, unless it is so small that the other side may hold it in its pieces
    without a name.
    """
    left: list[list[MatchPiece]] = [list(base), list(new)]
    known = [{_canonical_name_of(piece) for piece in side} for side in left]
    found: list[Matched] = []
    places = [_places_of_regions(side) for side in left]
    moved = _by_moved_place(places[0], places[1]), _by_moved_place(places[1], places[0])
    listed = [_least_listed(side) for side in left]
    for kind, keys in (("renamed", moved), *((kind, (key, key)) for kind, key in _KEYS)):
        grouped = [_group_pieces(side, key) for side, key in zip(left, keys, strict=True)]
        common = grouped[0].keys() & grouped[1].keys() - {None}
        found += [_match(kind, grouped[0][each], grouped[1][each]) for each in sorted(common, key=repr)]
        left = [[piece for each, pieces in side.items() if each not in common for piece in pieces] for side in grouped]
    if _is_mostly_graphs(base) != _is_mostly_graphs(new) and all(left):
        # One side launches kernels that the other has in graphs, of which only the whole was traced.
        return [*found, _match("graphed", *left)]
    return found + _match_rest(left, known, listed)


def _is_mostly_graphs(pieces: Sequence[MatchPiece]) -> bool:
    """Return whether more than half of the pieces' time is in CUDA graphs that were traced as a whole."""
    graphs = sum(
        (piece.dur for piece in pieces if piece.category == "compute" and _GRAPH.match(piece.name or "")), Fraction(0)
    )
    return 2 * graphs > sum((piece.dur for piece in pieces), Fraction(0))


def _match_rest(
    left: Sequence[Sequence[MatchPiece]], known: Sequence[set[str | None]], listed: Sequence[Fraction | None]
) -> list[Matched]:
    """Match the pieces that no key matched: small ones as one nameless match, others as resized, new or vanished.

    `known` are the names on each side. `listed` is the time of each side's smallest named piece, ns; None where all
    pieces are named.
    """
    rest = [[piece for piece in left[side] if _may_be_unlisted(piece, listed[1 - side])] for side in (0, 1)]
    found = [replace(_match("same", *rest), names=((), ()))] if rest[0] or rest[1] else []
    alone: tuple[Kind, Kind] = ("vanished", "new")
    for side, kind in enumerate(alone):
        told = [piece for piece in left[side] if not _may_be_unlisted(piece, listed[1 - side])]
        for pieces in _group_pieces(told, _name_and_shape).values():
            # A further launch shape of what the other side has, too, is neither new nor gone.
            named: Kind = "resized" if _canonical_name_of(pieces[0]) in known[1 - side] else kind
            found.append(_match(named, *((pieces, []) if side == 0 else ([], pieces))))
    return found


def _least_listed(pieces: Sequence[MatchPiece]) -> Fraction | None:
    """Return the time of the smallest named piece, ns; None if all pieces have a name."""
    if all(piece.name is not None for piece in pieces):
        return None
    return min((piece.dur for piece in pieces if piece.name is not None), default=Fraction(0))


def _may_be_unlisted(piece: MatchPiece, least: Fraction | None) -> bool:
    """Return whether the other side may have the piece in its nameless rest: it has no name, or is small.

    Small is at most twice `least`, the time of the other side's smallest named piece (None: the other side has no
    rest).
    """
    return piece.name is None or (least is not None and piece.dur <= _AS_SMALL * least)


def _canonical_name_of(piece: MatchPiece) -> str | None:
    """Return the canonical name of the piece; None for a piece without a name."""
    return None if piece.name is None else canonical_name(piece.name)


def _name_and_shape(name: str, piece: MatchPiece) -> tuple[str, str | None]:
    """Return the canonical name and the launch shape of a piece, as a key for the same work on both sides."""
    return canonical_name(name), piece.shape


def _by_copy(name: str, piece: MatchPiece) -> Hashable | None:
    """Return the direction and size of a copy as a key, for any host memory; None for other pieces."""
    is_copy = piece.category.startswith("copy_") and piece.shape is not None
    return (name, (piece.shape or "").removesuffix(PAGEABLE)) if is_copy else None


def _by_call(name: str, piece: MatchPiece) -> str | None:
    """Return the runtime call without its maker's prefix (LaunchKernel for cudaLaunchKernel and hipLaunchKernel), or None."""
    return _CALL.sub("", name) if piece.category.startswith("idle_") and _CALL.match(name) else None


# How pieces are found again, after regions that moved.
_KEYS: tuple[tuple[Kind, Key], ...] = (
    ("same", _name_and_shape),
    ("other memory", _by_copy),
    ("resized", lambda name, _: canonical_name(name)),
    ("renamed", lambda name, _: family_name(name)),
    ("renamed", _by_call),
    ("re-tuned", lambda _, piece: piece.operator),
    ("re-tuned", lambda name, _: function_name(name)),
    ("same role", lambda _, piece: piece.role),
)

_Places = Mapping[str, Sequence[tuple[int, ...]]]


def _places_of_regions(pieces: Sequence[MatchPiece]) -> _Places:
    """Return the places (line numbers) of offloaded regions by function, sorted."""
    found: dict[str, set[tuple[int, ...]]] = {}
    for piece in pieces:
        region = region_of(piece.name) if piece.name else None
        if region is not None:
            found.setdefault(region[0], set()).add(region[1])
    return {function: sorted(places) for function, places in found.items()}


def _by_moved_place(mine: _Places, others: _Places) -> Key:
    """Return a key function for one side that matches offloaded regions by their function and their order in it.

    It gives None unless both sides have equally many regions in the function, at other places.
    """

    def key(name: str, _: MatchPiece) -> Hashable | None:
        region = region_of(name)
        if region is None:
            return None
        function, place = region
        places, there = mine[function], others.get(function, [])
        return (function, places.index(place)) if len(places) == len(there) and places != there else None

    return key


def _group_pieces(pieces: Sequence[MatchPiece], key: Key) -> dict[Hashable | None, list[MatchPiece]]:
    """Return the pieces by the value of `key`; under None those without a name or without a value."""
    groups: dict[Hashable | None, list[MatchPiece]] = {}
    for piece in pieces:
        groups.setdefault(None if piece.name is None else key(piece.name, piece), []).append(piece)
    return groups


def _match(kind: Kind, base: Sequence[MatchPiece], new: Sequence[MatchPiece]) -> Matched:
    """Return the match of these pieces of both sides: their names, and counts and times summed on each side."""
    return Matched(
        kind,
        names=(_names_by_time(base), _names_by_time(new)),
        shapes=(_only_value(piece.shape for piece in base), _only_value(piece.shape for piece in new)),
        operator=_only_value(piece.operator for piece in (*base, *new)),
        count=(_sum(piece.count for piece in base), _sum(piece.count for piece in new)),
        dur=(_sum(piece.dur for piece in base), _sum(piece.dur for piece in new)),
        pieces=(tuple(base), tuple(new)),
        role=_only_value(piece.role for piece in (*base, *new)),
    )


def _sum(values: Iterable[Fraction]) -> Fraction:
    """Return the exact sum of the values."""
    return sum(values, Fraction(0))


def _names_by_time(pieces: Sequence[MatchPiece]) -> tuple[str, ...]:
    """Return the names of the pieces, the one with most time first."""
    times: dict[str, Fraction] = {}
    for piece in pieces:
        if piece.name is not None:
            times[piece.name] = times.get(piece.name, Fraction(0)) + piece.dur
    return tuple(sorted(times, key=lambda name: (-times[name], name)))


def _only_value(values: Iterable[str | None]) -> str | None:
    """Return the value that all have in common; None if there are several or none."""
    different = set(values)
    return different.pop() if len(different) == 1 else None
