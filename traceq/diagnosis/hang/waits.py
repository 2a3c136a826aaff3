"""Who waits for whom: the place at which a hang begins is one whose missing rank waits nowhere, or in a circle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from traceq.diagnosis.hang.model import MISMATCHES, Parting


def find_waits(partings: Sequence[Parting]) -> dict[int, dict[int, list[int]]]:
    """Return for each parting, by its index, the partings in which ranks that it lacks wait: {index: {rank: indexes}}."""
    places: dict[int, list[int]] = {}
    for index, parting in enumerate(partings):
        for rank in parting.waiting_ranks:
            places.setdefault(rank, []).append(index)
    return {
        index: {rank: [place for place in places.get(rank, []) if place != index] for rank in parting.lacking}
        for index, parting in enumerate(partings)
    }


def find_circles(edges: Mapping[int, Sequence[int]]) -> list[list[int]]:
    """Return the sets of nodes that reach each other (Tarjan's algorithm, without recursion), those reached first."""
    circles: list[list[int]] = []
    order: dict[int, int] = {}
    lowest: dict[int, int] = {}
    path: list[int] = []
    on_path: set[int] = set()
    for start in edges:
        if start in order:
            continue
        work = [(start, iter(edges[start]))]
        order[start] = lowest[start] = len(order)
        path.append(start)
        on_path.add(start)
        while work:
            node, targets = work[-1]
            target = next(targets, None)
            if target is None:
                work.pop()
                if work:
                    lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[node])
                if lowest[node] == order[node]:
                    at = path.index(node)
                    circles.append(path[at:])
                    on_path -= set(path[at:])
                    del path[at:]
            elif target not in order:
                order[target] = lowest[target] = len(order)
                path.append(target)
                on_path.add(target)
                work.append((target, iter(edges[target])))
            elif target in on_path:
                lowest[node] = min(lowest[node], order[target])
    return circles


def find_beginnings(partings: Sequence[Parting]) -> list[list[int]]:
    """Return the places at which a hang begins on its own: a single parting, or those of a circle, by their indexes.

    A parting is one where ranks differ in what they call, or where a missing rank waits in no other parting, or has no
    dump. In a circle, ranks wait for each other whatever becomes of the rest.
    """
    waits = find_waits(partings)
    edges = {
        index: sorted({place for places in waits[index].values() for place in places})
        for index, parting in enumerate(partings)
    }
    for index in [index for index, parting in enumerate(partings) if is_unknown(parting)]:
        # any rank may be the one that is missing there: also one that waits for those that are there
        edges[index] = [place for place, targets in edges.items() if index in targets]
    beginnings = []
    for circle in find_circles(edges):
        mismatches = [[index] for index in circle if partings[index].differs in MISMATCHES]
        if mismatches:
            beginnings += mismatches
        elif len(circle) > 1:
            beginnings.append(sorted(circle))
        elif _begins_alone(partings[circle[0]], waits[circle[0]]):
            beginnings.append(circle)
    return beginnings


def _begins_alone(parting: Parting, waits: Mapping[int, Sequence[int]]) -> bool:
    """Return whether nothing elsewhere explains why the ranks of this parting wait."""
    if parting.differs == "none" or is_unknown(parting):
        return True
    return bool(parting.without_dump) or any(not places for places in waits.values())


def is_unknown(parting: Parting) -> bool:
    """Return whether no dump tells which rank is missing: the members of the group are not known."""
    return parting.differs == "no_dump" and not parting.lacking and not parting.without_dump
