"""Tables that an analysis reads and makes, and the order that follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Item = TypeVar("Item")


class Flow(NamedTuple):
    """The tables that an analysis reads, and those that it makes; temporary tables count."""

    reads: frozenset[str]
    makes: frozenset[str]


def flow_of_text(text: str) -> Flow:
    """Return the tables named by the lines `-- reads: ...` and `-- makes: ...` at the top of an SQL file's text."""
    said: dict[str, set[str]] = {"reads": set(), "makes": set()}
    for line in text.splitlines():
        word, colon, names = line.removeprefix("-- ").partition(": ")
        if not line.startswith("--"):
            break
        if colon and word in said:
            said[word].update(names.split(", "))
    return Flow(frozenset(said["reads"]), frozenset(said["makes"]))


def in_order(items: Sequence[Item], flows: Mapping[Item, Flow]) -> Iterator[Item]:
    """Yield the items so that each comes after those that make the tables it reads; ties keep the order given.

    Items that both read and make a table only fill it in further: they keep their order, too. Raises ValueError for a
    cycle.
    """
    left = list(items)
    while left:
        for item in left:
            reads, makes = flows[item]
            others = [flows[other] for other in left if other is not item]
            if not any((reads & other.makes) - (makes & other.reads) for other in others):
                break
        else:
            raise ValueError(f"each of these reads what another one makes: {left}")
        left.remove(item)
        yield item
