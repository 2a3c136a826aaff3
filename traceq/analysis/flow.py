"""Tables that an analysis reads and makes, and the order that follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Item = TypeVar("Item")


class Flow(NamedTuple):
    """The names of the tables, temporary ones included, that an analysis reads, and of those that it makes."""

    reads: frozenset[str]
    makes: frozenset[str]


def flow_of_text(text: str) -> Flow:
    """Return the tables that the comments at the top of an SQL file's `text` name as read and as made.

    These are the lines `-- reads: a, b` and `-- makes: c`; without such a line the set is empty.
    """
    said: dict[str, set[str]] = {"reads": set(), "makes": set()}
    for line in text.splitlines():
        word, colon, names = line.removeprefix("-- ").partition(": ")
        if not line.startswith("--"):
            break
        if colon and word in said:
            said[word].update(names.split(", "))
    return Flow(frozenset(said["reads"]), frozenset(said["makes"]))


def in_order(items: Sequence[Item], flows: Mapping[Item, Flow]) -> Iterator[Item]:
    """Yield the items so that each comes after all items that make a table it reads; otherwise in the given order.

    Two items that both read and make the same table do not wait for each other. Raises ValueError for a cycle.
    """
    left = list(items)
    while left:
        for item in left:
            reads, makes = flows[item]
            others = [flows[other] for other in left if other is not item]
            if not any((reads & other.makes) - (makes & other.reads) for other in others):
                break
        else:
            raise ValueError(f"these depend on each other in a cycle: {left}")
        left.remove(item)
        yield item
