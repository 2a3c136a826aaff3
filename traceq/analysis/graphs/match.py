"""Finds the captured graph that each launch of a graph replays: its kernels agree best, by nodes, by order or by number."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from traceq.analysis.graphs.align import (
    ENOUGH,
    ENOUGH_GRIDS,
    NODE,
    NONE,
    Places,
    Rows,
    align_by_order,
    find_stretches,
    most_in_common,
    place_in_turn,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from traceq.analysis.graphs.align import Integers

# Graphs that agree equally with one launch: more are as good as none.
_MOST_CANDIDATES = 4096


class GraphLaunch(NamedTuple):
    """A launch of a CUDA graph, an array element for each kernel.

    `names`, `grids` and `streams` are codes (name and grid -1 if unknown); `nodes` are graph node ids, -1 if unknown.
    """

    names: Integers
    grids: Integers
    streams: Integers
    nodes: Integers


class Template(NamedTuple):
    """A captured graph, or a stretch of kernels that ran without a graph (`graph` is None).

    `first` is the number of its first call; `names` and `grids` are codes by call, -1 if unknown.
    """

    graph: int | None
    first: int
    names: Integers
    grids: Integers


class Match(msgspec.Struct, frozen=True):
    """The captured graphs that a launch may replay.

    All `candidates` agree equally well with it; `chosen` are the indices of those that also fit the launches before and
    after. `share` (0 to 1) is the part of the kernels that agrees with the best graph. Without candidates, `reason` says
    why.
    """

    share: float
    candidates: tuple[tuple[Template, Places], ...] = ()
    chosen: tuple[int, ...] = ()
    reason: str | None = None


class Templates:
    """The captured graphs that launches are compared with; results are remembered, by the launch's kernels."""

    def __init__(self, graphs: Sequence[Template], eager: Template | None, nodes: Mapping[int, int]) -> None:
        self._graphs = graphs
        self._eager = eager
        self._rows = None if eager is None else Rows(eager.names)
        self._nodes = nodes
        self._alike: dict[bytes, list[Template]] = defaultdict(list)
        for graph in graphs:
            self._alike[graph.names.tobytes()].append(graph)
        self._known: dict[tuple[bytes, ...], Match] = {}

    def match(self, launch: GraphLaunch) -> Match:
        """Return the captured graphs that agree best with the launch: by graph node ids, else by kernel names.

        Where none agrees well enough the match has no candidates, but a reason.
        """
        key = tuple(column.tobytes() for column in launch)
        if key not in self._known:
            self._known[key] = self._by_nodes(launch) or self._by_names(launch)
        return self._known[key]

    def _by_nodes(self, launch: GraphLaunch) -> Match | None:
        """Match by node ids whose captured calls are known.

        Return None if fewer than 90 % of the kernels have such an id, and the name of its call, in one graph.
        """
        calls = np.array([self._nodes.get(node, -1) for node in launch.nodes.tolist()])
        for graph in self._graphs:
            inside = (calls >= graph.first) & (calls < graph.first + len(graph.names))
            if not inside.any():
                continue
            place = np.where(inside, calls - graph.first, -1)
            name = graph.names[place]
            place[(name >= 0) & (name != launch.names)] = -1
            found = Places(place, np.where(place >= 0, NODE, NONE))
            if (share := found.matched / len(launch.names)) >= ENOUGH:
                return Match(share, ((graph, found),), (0,))
        return None

    def _by_names(self, launch: GraphLaunch) -> Match:
        """Match by kernel names, then by grids; without a graph that agrees for 90 % of the kernels, return a reason.

        Stretches of kernels that ran without a graph are candidates where no graph agrees so well.
        """
        found = list(self._found(launch))
        if not found:
            return Match(0.0, reason="the capture has no matching sequence of kernels")
        best = max(share for share, _, _ in found)
        if best < ENOUGH:
            return Match(best, reason="no captured graph has enough of their kernels in the same order")
        candidates = [(template, places) for share, template, places in found if share == best]
        return _of_same_size(launch, Match(best, tuple(candidates[:_MOST_CANDIDATES])))

    def _found(self, launch: GraphLaunch) -> Iterator[tuple[float, Template, Places]]:
        """Yield (share of kernels that agree, graph, places) for the graphs that may agree best.

        Only equal graphs are yielded where there are any. Where no graph agrees for 90 %, graphs without kernel names and
        stretches of kernels that ran without a graph follow.
        """
        if same := self._alike.get(launch.names.tobytes()):
            places = align_by_order(launch.names, launch.names)
            yield from ((1.0, template, places) for template in same if places is not None)
            return
        best = 0.0
        for templates in self._alike.values():
            of = max(len(launch.names), len(templates[0].names))
            if not of or most_in_common(launch.names, templates[0].names) / of < max(best, 1e-9):
                continue
            places = align_by_order(launch.names, templates[0].names)
            if places is not None:
                best = max(best, places.matched / of)
                yield from ((places.matched / of, template, places) for template in templates)
        if best < ENOUGH:
            yield from self._without_names(launch)
            yield from self._without_graph(launch)

    def _without_names(self, launch: GraphLaunch) -> Iterator[tuple[float, Template, Places]]:
        """Yield (1.0, graph, places) for graphs captured without kernel names that have as many calls as the launch has kernels.

        A launch with kernels on several streams has none.
        """
        if len(np.unique(launch.streams)) == 1:
            for graph in self._graphs:
                if len(graph.names) == len(launch.names) and (graph.names < 0).all():
                    yield 1.0, graph, place_in_turn(len(launch.names))

    def _without_graph(self, launch: GraphLaunch) -> Iterator[tuple[float, Template, Places]]:
        """Yield (share that agrees, stretch, places) for stretches like the launch among the kernels that ran without a graph."""
        if self._eager is None or self._rows is None:
            return
        length = len(launch.names)
        for start in find_stretches(launch.names, self._rows):
            # one kernel more or less moves the rest
            first, last = max(0, start), start + length
            template = replace_range(self._eager, first, last)
            places = align_by_order(launch.names, template.names)
            if places is not None:
                yield places.matched / length, template, places


def replace_range(template: Template, first: int, last: int) -> Template:
    """Return the part of a template from the kernel at index `first` to before `last`, as a template."""
    names, grids = template.names[first:last], template.grids[first:last]
    return Template(template.graph, template.first + first, names, grids)


def _of_same_size(launch: GraphLaunch, match: Match) -> Match:
    """Return the match (which has candidates) with those only of whose known grids the largest share is that of the launch.

    Where no grid is known the share is 1. Other grids mean another batch size: below a half none is kept.
    """
    equal, told = [], []
    for template, places in match.candidates:
        has = places.place >= 0
        mine, its = launch.grids[has], template.grids[places.place[has]]
        both = (mine >= 0) & (its >= 0)
        told.append(int(both.sum()))
        equal.append(int((mine == its)[both].sum()))
    shares = [same / of if of else 1.0 for same, of in zip(equal, told, strict=True)]
    best = max(shares)
    if best < ENOUGH_GRIDS:
        return Match(
            match.share, reason="their kernels have different grids from those captured, so they are of another size"
        )
    kept = tuple(candidate for candidate, share in zip(match.candidates, shares, strict=True) if share == best)
    return replace(match, candidates=kept, chosen=tuple(range(len(kept))))


def in_order(matches: list[Match]) -> list[Match]:
    """Return the matches with `chosen` narrowed so that consecutive launches replay graphs captured consecutively.

    This tells equal graphs apart, such as those of equal layers: each run of launches gets the longest runs of graphs that
    fit it, all of them if several are equally long.
    """
    graphs = [{candidate[0].graph: number for number, candidate in enumerate(match.candidates)} for match in matches]
    done = list(matches)
    at = 0
    while at < len(matches):
        lengths = {first: _run(graphs, at, first) for first in graphs[at] if first is not None}
        longest = max(lengths.values(), default=1)
        if longest > 1:
            firsts = [first for first, length in lengths.items() if length == longest]
            for more in range(longest):
                chosen = tuple(graphs[at + more][first + more] for first in firsts)
                done[at + more] = replace(done[at + more], chosen=chosen)
        at += longest
    return done


def _run(graphs: Sequence[Mapping[int | None, int]], at: int, first: int) -> int:
    """Return how many launches in a row, from index `at` on, have the captured graphs `first`, `first` + 1, ... as candidates.

    `graphs` maps, for each launch, the numbers of its candidate graphs to their index.
    """
    length = 0
    while at + length < len(graphs) and first + length in graphs[at + length]:
        length += 1
    return length
