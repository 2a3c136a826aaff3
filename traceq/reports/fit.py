"""Leave out the least important until a text fits its limit."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

T = TypeVar("T")
Rank = tuple[int, ...]

_BETWEEN = "\n\n"


def pick_fitting(versions: Iterable[T], fits: Callable[[T], bool]) -> T:
    """Return the first of `versions` for which `fits` is true, else the last; they go from the longest to the shortest.

    Raises StopIteration if there are no versions.
    """
    rest = iter(versions)
    version = next(rest)
    while not fits(version):
        shorter = next(rest, None)
        if shorter is None:
            break
        version = shorter
    return version


def drop_until_fits(ranks: Sequence[Rank | None], fits: Callable[[set[int]], bool]) -> set[int]:
    """Return the places of the fewest parts to drop until it fits, or of all parts that may go if it never fits.

    `fits` tells whether the text fits without the parts at the given places. `ranks` has one entry a part: the greatest goes
    first, of equal ones the last; a part with None always stays.
    """
    order = sorted(((rank, place) for place, rank in enumerate(ranks) if rank is not None), reverse=True)
    places = [place for _, place in order]
    number = bisect_left(range(len(places)), True, key=lambda dropped: fits(set(places[:dropped])))
    return set(places[:number])


class TextPart(msgspec.Struct, frozen=True):
    """A piece of text that is shown as a whole or not at all.

    Parts with the greatest `rank` are dropped first, those with None never. The note in place of dropped parts names
    their `kind`; a part without a kind leaves no note.
    """

    text: str
    rank: Rank | None
    kind: str = ""


class TextFrame(msgspec.Struct, frozen=True):
    """A text before and a text after the parts `inside`, shown while at least one of these parts is."""

    opening: str
    closing: str
    title: str
    inside: Sequence[TextPart | TextFrame]


# (titles of the frames that are gone, kinds of other parts that are gone) -> the line in their place
Note = Callable[[Sequence[str], Sequence[str]], str]
# (parts that were left out) -> the paragraph after the first part
Summary = Callable[[Sequence[TextPart]], str]


class _PartPlace(msgspec.Struct, frozen=True):
    """A part and the frames around it, outermost first."""

    part: TextPart
    around: tuple[TextFrame, ...]


def join_fitting(inside: Sequence[TextPart | TextFrame], limit: int, note: Note, summary: Summary) -> str:
    """Join the parts by blank lines, dropping parts until the text is shorter than `limit`.

    Parts that always stay may make it longer. `note` writes the line in place of dropped parts.
    """
    places = list(_flatten_parts(inside, ()))

    def join(dropped: set[int]) -> str:
        return _join(places, dropped, note, summary)

    return join(drop_until_fits([place.part.rank for place in places], lambda dropped: len(join(dropped)) < limit))


def _flatten_parts(inside: Sequence[TextPart | TextFrame], around: tuple[TextFrame, ...]) -> Iterator[_PartPlace]:
    for item in inside:
        if isinstance(item, TextPart):
            yield _PartPlace(item, around)
        else:
            yield from _flatten_parts(item.inside, (*around, item))


def _join(places: Sequence[_PartPlace], dropped: set[int], note: Note, summary: Summary) -> str:
    shown = {id(outer) for number, place in enumerate(places) if number not in dropped for outer in place.around}
    texts: list[str] = []
    opened: list[TextFrame] = []
    gone: list[_PartPlace] = []
    for number, place in enumerate(places):
        wanted = [outer for outer in place.around if id(outer) in shown]
        if number not in dropped:
            texts += _take_note(gone, shown, note) + _open_only(opened, wanted) + [place.part.text]
        elif place.part.kind:
            if not gone:
                texts += _open_only(opened, wanted)
            gone.append(place)
    texts += _take_note(gone, shown, note) + _open_only(opened, [])
    if dropped:
        texts.insert(1, summary([places[number].part for number in sorted(dropped)]))
    return _BETWEEN.join(texts) + "\n"


def _open_only(opened: list[TextFrame], wanted: Sequence[TextFrame]) -> list[str]:
    """Change the `opened` frames to `wanted` and return the texts that close and open them."""
    texts: list[str] = []
    while [id(outer) for outer in opened] != [id(outer) for outer in wanted[: len(opened)]]:
        texts.append(opened.pop().closing)
    for outer in wanted[len(opened) :]:
        texts.append(outer.opening)
        opened.append(outer)
    return [text for text in texts if text]


def _take_note(gone: list[_PartPlace], shown: set[int], note: Note) -> list[str]:
    """Return the note in place of the dropped parts in `gone`, or an empty list, and empty `gone`.

    `shown` has the ids of frames that are shown.
    """
    titles: dict[int, str] = {}
    kinds: list[str] = []
    for place in gone:
        whole = next((outer for outer in place.around if id(outer) not in shown), None)
        if whole is None:
            kinds.append(place.part.kind)
        else:
            titles[id(whole)] = whole.title
    gone.clear()
    return [note(list(titles.values()), kinds)] if titles or kinds else []
