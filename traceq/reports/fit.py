"""A text that must not be longer than so many characters: which of its parts are left out, and what stands there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

_BETWEEN = "\n\n"


@dataclass(frozen=True)
class Part:
    """A piece of text that is shown as a whole or not at all.

    The greatest `rank` is left out first, of equal ones the last; None never. `kind` is what the line in its place
    calls it; without one there is no such line.
    """

    text: str
    rank: tuple[int, ...] | None
    kind: str = ""


@dataclass(frozen=True)
class Around:
    """What is shown around parts as long as one of them is shown."""

    opening: str
    closing: str
    title: str
    inside: Sequence[Part | Around]


@dataclass
class _Place:
    """A part, and what is around it, from the outside inwards."""

    part: Part
    around: tuple[Around, ...]


@dataclass
class _Kept:
    """Which parts are shown, by their number, and around which of them `Around`s are, by their id."""

    numbers: set[int] = field(default_factory=set)
    around: set[int] = field(default_factory=set)


# What stands where parts were left out: from the titles of what is gone as a whole, and the kinds of other parts.
Note = Callable[[Sequence[str], Sequence[str]], str]
# What stands after the first part, if anything was left out.
Summary = Callable[[Sequence[Part]], str]


def fitted(inside: Sequence[Part | Around], limit: int, note: Note, summary: Summary) -> str:
    """The parts with blank lines between them, shorter than `limit` if those that are never left out are.

    No part stays that is to be left out before another that is not there.
    """
    places = list(_places(inside, ()))
    droppable = [number for number, place in enumerate(places) if place.part.rank is not None]
    order = sorted(droppable, key=lambda number: (places[number].part.rank, number), reverse=True)
    text = _joined(places, _kept(places, ()), note, summary)
    if len(text) < limit or not order:
        return text
    least = _surely(places, order, len(text) - limit)
    most, step = least, 1
    while len(text) >= limit and most < len(order):
        least, most, step = most, min(most + step, len(order)), 2 * step
        text = _joined(places, _kept(places, order[:most]), note, summary)
    while most - least > 1:
        middle = (least + most) // 2
        longer = _joined(places, _kept(places, order[:middle]), note, summary)
        if len(longer) < limit:
            most, text = middle, longer
        else:
            least = middle
    return text


def _surely(places: Sequence[_Place], order: Sequence[int], excess: int) -> int:
    """How many parts, in this order, do not make up for `excess`, even if nothing stood in their place."""
    seen: set[int] = set()
    for taken, number in enumerate(order):
        excess -= len(places[number].part.text) + len(_BETWEEN)
        for each in places[number].around:
            if id(each) not in seen:
                seen.add(id(each))
                excess -= len(each.opening) + len(each.closing) + 2 * len(_BETWEEN)
        if excess < 0:
            return taken
    return len(order) - 1


def _places(inside: Sequence[Part | Around], around: tuple[Around, ...]) -> Iterator[_Place]:
    for each in inside:
        if isinstance(each, Part):
            yield _Place(each, around)
        else:
            yield from _places(each.inside, (*around, each))


def _kept(places: Sequence[_Place], dropped: Sequence[int]) -> _Kept:
    kept = _Kept(set(range(len(places))) - set(dropped))
    for number in kept.numbers:
        kept.around.update(map(id, places[number].around))
    return kept


def _joined(places: Sequence[_Place], kept: _Kept, note: Note, summary: Summary) -> str:
    texts: list[str] = []
    opened: list[Around] = []
    gone: list[_Place] = []
    for number, place in enumerate(places):
        shown = [each for each in place.around if id(each) in kept.around]
        if number in kept.numbers:
            texts.extend(_note_of(gone, kept, note))
            _move(opened, shown, texts)
            texts.append(place.part.text)
        elif place.part.kind:
            if not gone:
                _move(opened, shown, texts)
            gone.append(place)
    texts.extend(_note_of(gone, kept, note))
    _move(opened, [], texts)
    left_out = [place.part for number, place in enumerate(places) if number not in kept.numbers]
    if left_out:
        texts.insert(1, summary(left_out))
    return _BETWEEN.join(texts) + "\n"


def _move(opened: list[Around], wanted: Sequence[Around], texts: list[str]) -> None:
    """Close and open until `wanted` are open."""
    while [id(each) for each in opened] != [id(each) for each in wanted[: len(opened)]]:
        closing = opened.pop().closing
        if closing:
            texts.append(closing)
    for each in wanted[len(opened) :]:
        texts.append(each.opening)
        opened.append(each)


def _note_of(gone: list[_Place], kept: _Kept, note: Note) -> Iterator[str]:
    """What stands in the place of `gone`, which is empty afterwards."""
    if not gone:
        return
    titles: dict[int, str] = {}
    kinds: list[str] = []
    for place in gone:
        whole = next((each for each in place.around if id(each) not in kept.around), None)
        if whole is None:
            kinds.append(place.part.kind)
        else:
            titles[id(whole)] = whole.title
    gone.clear()
    yield note(list(titles.values()), kinds)
