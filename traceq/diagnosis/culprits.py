"""The host slices in the time of a claim as a tree, in which slices of one name are one node."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import msgspec

from traceq.errors import StoreError

# How Python's profiler names what is written in C: with what it belongs to, and an address that says nothing.
_BUILT_IN = re.compile(r"^<built-in (?:function|method) (\S+?)(?: of .*)?>$")
# Annotations and modules are numbered: nn.Module: Block_12, pre_forward (blocks.3.mlp).
_NUMBER = re.compile(r"\d+")
# The range of a step says nothing of where in it.
_STEP = re.compile(r"^(ProfilerStep|traceq\.step)#")
OUTSIDE = "the step outside other ranges"
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


class Node(msgspec.Struct):
    """Host slices of the same name at the same place of the tree, with the nodes of slices inside them by their keys.

    `total` is the claim's time in them with inner slices, `own` without these; ns over the counted steps. `is_line`:
    the name is a line of Python source.
    """

    name: str
    kind: str
    is_line: bool = False
    total: float = 0.0
    own: float = 0.0
    children: dict[str, Node] = msgspec.field(default_factory=dict)

    def inside(self) -> list[Node]:
        """Return the children, the longest first."""
        return sorted(self.children.values(), key=lambda node: (-node.total, node.name))


class CulpritPlace(msgspec.Struct, frozen=True):
    """A named part of a claim's time: its time (ns over the counted steps), its share of the claim (0..1), and its parts."""

    name: str
    dur: float
    share: float
    parts: tuple[CulpritPlace, ...] = ()


def strip_address(name: str) -> str:
    """Return the name of a host slice; of Python's "<built-in function NAME of ...>" only NAME."""
    return _BUILT_IN.sub(r"\1", name)


def group_by_claim(rows: Iterable[dict[str, Any]], claims: Iterable[int]) -> dict[int, list[dict[str, Any]]]:
    """Return for each claim number the rows of `rows` (of culprit_tree.sql) with its slices and the slices around these.

    They keep the order of `rows`. The column own_ns is added: the claim's time in the slice itself, ns, 0 in slices
    around. Raises StoreError where a parent is missing.
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
    """Add to `found` the row of the slice, and rows of the slices around it that it lacks, with own_ns 0.

    Raises StoreError where a parent is missing.
    """
    while slice_id not in found:
        row = slices.get(slice_id)
        if row is None or (slice_id is not None and row["name"] is None):
            raise StoreError(f"host slice {slice_id} does not exist: {_CHANGED}")
        found[slice_id] = {**row, "own_ns": 0.0}
        slice_id = row["parent_id"]
        if slice_id is None:
            return


def build_tree(rows: Iterable[dict[str, Any]]) -> Node:
    """Build the tree of a claim's host slices from rows of group_by_claim; return its root, whose total is the claim's time.

    Raises StoreError where a slice lies within itself.
    """
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
    """Yield the ids of the slice and those around it that have no node yet, from inside to outside.

    Raises StoreError where a slice lies within itself.
    """
    for _ in range(len(slices) + 1):
        if slice_id in nodes:
            return
        yield slice_id
        slice_id = slices[slice_id]["parent_id"]
    raise StoreError(f"host slice {slice_id} contains itself: {_CHANGED}")


def _add_child(parent: Node, row: dict[str, Any]) -> Node:
    """Return the node of the slice `row` inside `parent`, made if missing; `parent` itself for the annotation of a step.

    Annotations and modules that differ only by numbers share a node, which is then called by their key.
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
    """Return the name of a slice to show, and the key that all slices of its node share; None as the key for a step.

    The key of annotations and modules has # for each number.
    """
    if kind == "annotation" and _STEP.match(name):
        return name, None
    name = strip_address(name)
    is_numbered = kind == "annotation" or name.startswith("nn.Module: ")
    return name, _NUMBER.sub("#", name) if is_numbered else name


def _walk_outside_in(root: Node) -> Iterator[Node]:
    """Yield the root and all nodes below it, each before those inside it."""
    stack = [root]
    while stack:
        yield (node := stack.pop())
        stack.extend(node.children.values())


def divide_time(root: Node) -> list[CulpritPlace]:
    """Divide a claim's time into named places of at least a tenth of it, and return these, the longest first.

    Where it does not divide so, the three longest are returned. Empty for a claim without time.
    """
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
    """Return the parts inside the node that are at least a tenth of `total`, if these are half of its time or more.

    It divides the innermost node that holds nearly all of the time of `node`, and returns this one if it does not
    divide. Time outside all children is a part too.
    """
    while (only := _dominant_child(node)) is not None:
        node = only
    inside = [*node.inside(), Node(node.name or OUTSIDE, node.kind, node.is_line, node.own, node.own)]
    large = [each for each in inside if each.total >= WORTH_NAMING * total]
    return large if sum(part.total for part in large) >= _MOST * node.total else [node]


def _dominant_child(node: Node) -> Node | None:
    """Return the child that holds at least 95 % of the node's time; None without one."""
    return next((child for child in node.inside()[:1] if child.total >= _NEARLY_ALL * node.total), None)


def _name_place(node: Node, total: float) -> CulpritPlace:
    """Return the node as a place, with the parts that it divides into; `total` (ns) is the claim's time.

    It is called by the innermost line of Python, else by the innermost operator or annotation, that holds nearly all of
    its time.
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
    """Return the nodes that the time inside `node` divides into, the first time that it divides; empty if it never does.

    A part is at least a tenth of `total`.
    """
    inside = _divide(node, total)
    while len(inside) == 1 and inside[0] is not node and inside[0].children:
        node, inside = inside[0], _divide(inside[0], total)
    return [] if inside == [node] else inside


def _telling_name(node: Node) -> str:
    """Return the name of the innermost line of Python that holds nearly all of the node's time; else the node's own."""
    chain = [node]
    while (only := _dominant_child(chain[-1])) is not None:
        chain.append(only)
    lines = [each for each in chain if each.is_line]
    return lines[-1].name if lines else node.name


def common_name(root: Node, kind: str) -> str | None:
    """Return the innermost name of the kind (annotation, op, line) whose slices hold at least half of the claim's time.

    None without one. `root` is the claim's tree.
    """
    totals: dict[str, tuple[float, int]] = {}
    for node, depth, above in _walk_kind(root, kind):
        dur, deepest = totals.get(node.name, (0.0, 0))
        totals[node.name] = (dur + (0.0 if above else node.total), max(deepest, depth))
    held = [(depth, name) for name, (dur, depth) in totals.items() if dur >= _MOST * root.total]
    return max(held)[1] if held else None


def _walk_kind(root: Node, kind: str) -> Iterator[tuple[Node, int, bool]]:
    """Yield each node of the kind (annotation, op, line), its depth, and whether it lies in a node of the same name."""
    opened: Counter[str] = Counter()
    # Below what is inside a node lies the node again, with the depth -1, for when all of that is done.
    stack = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        if depth < 0:
            opened[node.name] -= 1
            continue
        if node.is_line if kind == "line" else node.kind == kind:
            yield node, depth, opened[node.name] > 0
            opened[node.name] += 1
            stack.append((node, -1))
        stack.extend((child, depth + 1) for child in node.children.values())
