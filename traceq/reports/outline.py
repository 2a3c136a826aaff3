"""The blocks of a report as a tree: what stands under which heading or fold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from traceq.reports.document import Block, Fold, Heading, Paragraph


@dataclass(frozen=True, eq=False)
class Section:
    """A heading or a fold, and what stands under it."""

    head: Heading | Fold
    nodes: list[Section | Leaf] = field(default_factory=list)


@dataclass
class Leaf:
    """A block, after the paragraph that says what it is ("The longest:") if there is one."""

    blocks: tuple[Block, ...]


Node = Section | Leaf


def build_outline(blocks: Iterable[Block]) -> list[Node]:
    """Put the blocks under their headings, in the same order. A fold ends where its own blocks end."""
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
