"""The host slices in the time of a claim as a tree, in which slices of one name are one node."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from traceq.errors import StoreError

# How Python's profiler names what is written in C: with what it belongs to, and an address that says nothing.
_BUILT_IN = re.compile(r"^<built-in (?:function|method) (\S+?)(?: of .*)?>$")
# Annotations and modules are numbered: nn.Module: Block_12, pre_forward (blocks.3.mlp).
_NUMBER = re.compile(r"\d+")
# The range of a step says nothing of where in it.
_STEP = re.compile(r"^(ProfilerStep|traceq\.step)#")
OUTSIDE = "the step outside of other ranges"
NOTHING = "no range or call at all"
_CHANGED = "the database is not as traceq makes it; ingest the traces again"

# A part of a claim that is worth a name: a tenth. With fewer parts than ten no list gets long.
WORTH_NAMING = 0.1
# What holds so much of what is around it is the same thing by a more telling name.
_NEARLY_ALL = 0.95
# What most of a claim has in common is where it is.
_MOST = 0.5
# Of what divides into many small parts so many are named, none below so much.
_MOST_NAMED = 3
_LEAST = 0.01


@dataclass
class Node:
    """Slices of the same name at the same place of the tree.

    `total` is the time in them with inner slices, `own` without these; ns over the counted steps.
    """

    name: str
    kind: str
    is_line: bool = False
    total: float = 0.0
    own: float = 0.0
    children: dict[str, Node] = field(default_factory=dict)

    def inside(self) -> list[Node]:
        """Return the children, the longest first."""
        return sorted(self.children.values(), key=lambda node: (-node.total, node.name))


@dataclass(frozen=True)
class CulpritPlace:
    """A named part of a claim's time: its time (ns), its share of the claim (0..1), and its parts that are worth a name."""

    name: str
    dur: float
    share: float
    parts: tuple[CulpritPlace, ...] = ()


def strip_address(name: str) -> str:
    """Return the name; for a built-in function of Python only the function's own name."""
    return _BUILT_IN.sub(r"\1", name)


def group_by_claim(rows: Iterable[dict[str, Any]], claims: Iterable[int]) -> dict[int, list[dict[str, Any]]]:
    """Return for each claim the rows of diagnosis/sql/culprit_tree.sql with its slices and those around them, in their order.

    `own_ns` is the claim's time in the slice itself.
    """
    slices = {row["slice_id"]: row for row in rows}
    order = {slice_id: place for place, slice_id in enumerate(slices)}
    found: dict[int, dict[int | None, dict[str, Any]]] = {claim: {} for claim in claims}
    for slice_id, row in slices.items():
        for spent in row["claims"] or ():
            if row["kind"] is not None or spent["dur"] > 0:
                of_claim = found[spent["claim"]]
                _add_around(slice_id, slices, of_claim)
                of_claim[slice_id]["own_ns"] = spent["dur"]
    return {
        claim: [each[slice_id] for slice_id in sorted(each, key=order.__getitem__)] for claim, each in found.items()
    }


def _add_around(
    slice_id: int | None, slices: dict[int | None, dict[str, Any]], found: dict[int | None, dict[str, Any]]
) -> None:
    """Add the slice, and those around it that are not in `found` yet, with no time of their own.

    Raises StoreError where a parent is missing.
    """
    while slice_id not in found:
        row = slices.get(slice_id)
        if row is None or (slice_id is not None and row["name"] is None):
            raise StoreError(f"host slice {slice_id} is named, and not there: {_CHANGED}")
        found[slice_id] = {**row, "own_ns": 0.0}
        slice_id = row["parent_id"]
        if slice_id is None:
            return


def build_tree(rows: Iterable[dict[str, Any]]) -> Node:
    """Build the tree of a claim's slices from rows of group_by_claim; its root stands for all of the claim's time."""
    slices = {row["slice_id"]: row for row in rows}
    root = Node("", "")
    nodes: dict[int | None, Node] = {None: root}
    for slice_id, row in slices.items():
        for missing in reversed(list(_walk_missing(slice_id, slices, nodes))):
            nodes[missing] = _add_child(nodes[slices[missing]["parent_id"]], slices[missing])
        node = nodes[slice_id] if slice_id is not None else root.children.setdefault(NOTHING, Node(NOTHING, ""))
        node.own += row["own_ns"]
    for node in reversed(list(_walk_outside_in(root))):
        node.total = node.own + sum(child.total for child in node.children.values())
    return root


def _walk_missing(
    slice_id: int | None, slices: dict[int | None, dict[str, Any]], nodes: dict[int | None, Node]
) -> Iterator[int | None]:
    """Yield the slice and those around it that have no node yet, from inside to outside."""
    for _ in range(len(slices) + 1):
        if slice_id in nodes:
            return
        yield slice_id
        slice_id = slices[slice_id]["parent_id"]
    raise StoreError(f"host slice {slice_id} lies within itself: {_CHANGED}")


def _add_child(parent: Node, row: dict[str, Any]) -> Node:
    """Return the node of a slice inside `parent`, made if missing; for a step it is `parent` itself.

    Annotations and modules that differ only by numbers share a node.
    """
    name, key = _name_and_key(row["kind"], row["name"])
    if key is None:
        return parent
    node = parent.children.setdefault(key, Node(name, row["kind"], row["is_line"]))
    if node.name != name:
        node.name = key
    return node


@lru_cache(maxsize=1 << 16)
def _name_and_key(kind: str, name: str) -> tuple[str, str | None]:
    """Return the name of a slice, and a key that all slices of its node share; None as the key of a step."""
    if kind == "annotation" and _STEP.match(name):
        return name, None
    name = strip_address(name)
    is_numbered = kind == "annotation" or name.startswith("nn.Module: ")
    return name, _NUMBER.sub("#", name) if is_numbered else name


def _walk_outside_in(root: Node) -> Iterator[Node]:
    """Yield all nodes, each before those inside it."""
    stack = [root]
    while stack:
        yield (node := stack.pop())
        stack.extend(node.children.values())


def divide_time(root: Node) -> list[CulpritPlace]:
    """Divide a claim's time into named parts of at least a tenth, the longest first; else return its three longest parts."""
    if not root.total:
        return []
    found = _divide(root, root.total)
    if found == [root]:
        found = [child for child in root.inside()[:_MOST_NAMED] if child.total >= _LEAST * root.total]
    return _merge_places(_name_place(node, root.total) for node in found) or [CulpritPlace(OUTSIDE, root.total, 1.0)]


def _merge_places(found: Iterable[CulpritPlace]) -> list[CulpritPlace]:
    """Merge places of the same name; return them the longest first."""
    by_name: dict[str, CulpritPlace] = {}
    for place in found:
        same = by_name.get(place.name, CulpritPlace(place.name, 0.0, 0.0))
        parts = _merge_places((*same.parts, *place.parts)) if place.parts or same.parts else []
        by_name[place.name] = CulpritPlace(place.name, same.dur + place.dur, same.share + place.share, tuple(parts))
    return sorted(by_name.values(), key=lambda place: (-place.dur, place.name))


def _divide(node: Node, total: float) -> list[Node]:
    """Return the large parts inside the first node that does not lie nearly all in a single child; that node if none are.

    Large is at least a tenth of `total`.
    """
    while (only := _dominant_child(node)) is not None:
        node = only
    inside = [*node.inside(), Node(node.name or OUTSIDE, node.kind, node.is_line, node.own, node.own)]
    large = [each for each in inside if each.total >= WORTH_NAMING * total]
    return large if sum(part.total for part in large) >= _MOST * node.total else [node]


def _dominant_child(node: Node) -> Node | None:
    return next((child for child in node.inside()[:1] if child.total >= _NEARLY_ALL * node.total), None)


def _name_place(node: Node, total: float) -> CulpritPlace:
    """Return the node as a place, with the parts that it divides into.

    Its name is that of the innermost line of Python, operator or annotation that holds nearly all of its time.
    """
    chain = [node]
    while (only := _dominant_child(chain[-1])) is not None:
        chain.append(only)
    told = [each for each in chain if each.is_line] or [each for each in chain if each.kind in ("op", "annotation")]
    parts = _merge_places(
        CulpritPlace(_telling_name(each), each.total, each.total / total) for each in _divide_deeper(chain[-1], total)
    )
    name = (told or chain)[-1].name
    return CulpritPlace(name, node.total, node.total / total, tuple(part for part in parts if part.name != name))


def _divide_deeper(node: Node, total: float) -> list[Node]:
    """Divide the time inside the node further; return nothing if it does not divide."""
    inside = _divide(node, total)
    while len(inside) == 1 and inside[0] is not node and inside[0].children:
        node, inside = inside[0], _divide(inside[0], total)
    return [] if inside == [node] else inside


def _telling_name(node: Node) -> str:
    chain = [node]
    while (only := _dominant_child(chain[-1])) is not None:
        chain.append(only)
    lines = [each for each in chain if each.is_line]
    return lines[-1].name if lines else node.name


def common_name(root: Node, kind: str) -> str | None:
    """Return the innermost name of the kind (annotation, op, line) that holds at least half of the time; None without one."""
    totals: dict[str, tuple[float, int]] = {}
    for node, depth, above in _walk_kind(root, kind):
        dur, deepest = totals.get(node.name, (0.0, 0))
        totals[node.name] = (dur + (0.0 if above else node.total), max(deepest, depth))
    held = [(depth, name) for name, (dur, depth) in totals.items() if dur >= _MOST * root.total]
    return max(held)[1] if held else None


def _walk_kind(root: Node, kind: str) -> Iterator[tuple[Node, int, bool]]:
    """Yield the nodes of the kind, their depth, and whether a node of the same name is around them, which holds their time."""
    stack: list[tuple[Node, int, frozenset[str]]] = [(root, 0, frozenset())]
    while stack:
        node, depth, above = stack.pop()
        if node.is_line if kind == "line" else node.kind == kind:
            yield node, depth, node.name in above
            above = above | {node.name}
        stack.extend((child, depth + 1, above) for child in node.children.values())
