"""Which part of one run is which of the other: by name and shape, then ever more tolerant."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from traceq.comparisons.kernel_name import canonical, family_name

if TYPE_CHECKING:
    from traceq.comparisons.comparison import Kind

_Pair = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Piece:
    """Part of a category on one side: count and time (ns) per step, exactly."""

    name: str | None
    shape: str | None
    operator: str | None
    count: Fraction
    dur: Fraction


@dataclass(frozen=True)
class Matched:
    """What belongs together, base first; names by time, the longest first, and none on the side that lacks it."""

    kind: Kind
    names: tuple[tuple[str, ...], tuple[str, ...]]
    shapes: tuple[str | None, str | None]
    operator: str | None
    count: _Pair
    dur: _Pair


def matched(base: Sequence[Piece], new: Sequence[Piece]) -> list[Matched]:
    """Every piece of both sides in exactly one match.

    In this order: the same name and launch shape; the same name; the same name but for template arguments and what
    compilers make up; another kernel for the same operator. What is left is new or has vanished.
    """
    left: list[list[Piece]] = [list(base), list(new)]
    found: list[Matched] = []
    keys: tuple[tuple[Kind, Callable[[Piece], Hashable | None]], ...] = (
        ("same", _name_and_shape),
        ("resized", _name),
        ("renamed", _family),
        ("re-tuned", _operator),
    )
    for kind, key in keys:
        grouped = [_grouped(side, key) for side in left]
        common = grouped[0].keys() & grouped[1].keys() - {None}
        found += [_match(kind, grouped[0][each], grouped[1][each]) for each in sorted(common, key=repr)]
        left = [[piece for each, pieces in side.items() if each not in common for piece in pieces] for side in grouped]
    found += [_match("vanished", pieces, []) for pieces in _grouped(left[0], _name_and_shape).values()]
    found += [_match("new", [], pieces) for pieces in _grouped(left[1], _name_and_shape).values()]
    return found


def _name_and_shape(piece: Piece) -> tuple[str | None, str | None]:
    return (_name(piece), piece.shape)


def _name(piece: Piece) -> str | None:
    return None if piece.name is None else canonical(piece.name)


def _family(piece: Piece) -> str | None:
    return None if piece.name is None else family_name(piece.name)


def _operator(piece: Piece) -> str | None:
    return None if piece.name is None else piece.operator


def _grouped(pieces: Sequence[Piece], key: Callable[[Piece], Hashable | None]) -> dict[Hashable | None, list[Piece]]:
    groups: dict[Hashable | None, list[Piece]] = {}
    for piece in pieces:
        groups.setdefault(key(piece), []).append(piece)
    return groups


def _match(kind: Kind, base: Sequence[Piece], new: Sequence[Piece]) -> Matched:
    return Matched(
        kind,
        names=(_names(base), _names(new)),
        shapes=(_one(piece.shape for piece in base), _one(piece.shape for piece in new)),
        operator=_one(piece.operator for piece in (*base, *new)),
        count=(_sum(piece.count for piece in base), _sum(piece.count for piece in new)),
        dur=(_sum(piece.dur for piece in base), _sum(piece.dur for piece in new)),
    )


def _sum(values: Iterable[Fraction]) -> Fraction:
    return sum(values, Fraction(0))


def _names(pieces: Sequence[Piece]) -> tuple[str, ...]:
    """The names of the pieces, the one with most time first."""
    times: dict[str, Fraction] = {}
    for piece in pieces:
        if piece.name is not None:
            times[piece.name] = times.get(piece.name, Fraction(0)) + piece.dur
    return tuple(sorted(times, key=lambda name: (-times[name], name)))


def _one(values: Iterable[str | None]) -> str | None:
    """The value if it is the same everywhere, else None."""
    different = set(values)
    return different.pop() if len(different) == 1 else None
