"""The blocks of a report as a tree under headings and folds, and what of it may be left out first.

First the queries; then the sections after the findings, the evidence of the lesser findings, their fixes, the
rankings and what stands beside them, and what a trace begins with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from traceq.reports.document import Block, Facts, Fold, Heading, Paragraph, Query


class Section(msgspec.Struct, frozen=True, eq=False):
    """A heading or a fold, with the sections and leaves under it."""

    head: Heading | Fold
    nodes: list[Section | Leaf] = msgspec.field(default_factory=list)


class Leaf(msgspec.Struct):
    """A block, with the paragraph that introduces it ("The longest:") if there is one."""

    blocks: tuple[Block, ...]


Node = Section | Leaf


def build_outline(blocks: Iterable[Block]) -> list[Node]:
    """Return the blocks as a tree under their headings and folds, in the same order."""
    top: list[Node] = []
    opened: list[tuple[int, list[Node]]] = [(0, top)]
    for block in blocks:
        nodes = opened[-1][1]
        if isinstance(block, Heading):
            while opened[-1][0] >= block.level:
                opened.pop()
            section = Section(block)
            opened[-1][1].append(section)
            opened.append((block.level, section.nodes))
        elif isinstance(block, Fold):
            nodes.append(Section(block, build_outline(block.blocks)))
        elif nodes and isinstance(nodes[-1], Leaf) and _is_introduction(nodes[-1].blocks[-1]):
            nodes[-1].blocks += (block,)
        else:
            nodes.append(Leaf((block,)))
    return top


def _is_introduction(block: Block) -> bool:
    return isinstance(block, Paragraph) and "".join(block.spans).endswith(":")


_QUERY, _AFTER, _EVIDENCE, _FIX, _RANKING, _BEGINNING, _ABOUT = 6, 5, 4, 3, 2, 1, 0

_FINDINGS = "findings"
_FINDING = re.compile(r"F(\d+)")


def rate_importance(leaf: Leaf, above: Sequence[Section]) -> tuple[int, int]:
    """Return a leaf's rank for leaving out (the greatest goes first); `above` are the sections around it, outermost first."""
    headings = [each for each in above if isinstance(each.head, Heading)]
    if isinstance(leaf.blocks[-1], Query):
        return _QUERY, 0
    if len(headings) < len(("report", "trace")):
        return _ABOUT, 0
    if len(headings) < len(("report", "trace", "section")):
        return _BEGINNING, 0
    _, trace, section, *inner = headings
    if _comes_after_findings(section, trace):
        return _AFTER, 0
    number = max((_number_of(each) for each in inner), default=0)
    if not number:
        return _RANKING, 0
    return (_FIX if isinstance(leaf.blocks[-1], Facts) else _EVIDENCE), number


def _comes_after_findings(section: Section, trace: Section) -> bool:
    """Return whether the section comes after the trace's findings; true if it has no findings."""
    sections = [each for each in trace.nodes if isinstance(each, Section)]
    found = [number for number, each in enumerate(sections) if _anchor_of(each) == _FINDINGS]
    return sections.index(section) > (found[0] if found else -1)


def _number_of(section: Section) -> int:
    """Return the number of the finding that the section is about, 0 for none."""
    found = _FINDING.fullmatch(_anchor_of(section))
    return int(found[1]) if found else 0


def _anchor_of(section: Section) -> str:
    return (isinstance(section.head, Heading) and section.head.anchor) or ""
