"""What of a report may be left out where there is not room for all of it, and in which order.

First the queries; then the sections after the findings, the evidence of the lesser findings, their fixes, the
rankings and what stands beside them, and what a trace begins with.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from traceq.reports.document import Facts, Heading, Query
from traceq.reports.outline import Leaf, Section

_QUERY, _AFTER, _EVIDENCE, _FIX, _RANKING, _BEGINNING, _ABOUT = 6, 5, 4, 3, 2, 1, 0

_FINDINGS = "findings"
_FINDING = re.compile(r"F(\d+)")


def rate_importance(leaf: Leaf, above: Sequence[Section]) -> tuple[int, int]:
    """Rate how soon a leaf may be left out (greatest first); `above` are the sections around it, outermost first."""
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
    """Return whether the section comes after the findings, or there are none."""
    sections = [each for each in trace.nodes if isinstance(each, Section)]
    found = [number for number, each in enumerate(sections) if _anchor_of(each) == _FINDINGS]
    return sections.index(section) > (found[0] if found else -1)


def _number_of(section: Section) -> int:
    """Return the number of the finding that the section is about, 0 for none."""
    found = _FINDING.fullmatch(_anchor_of(section))
    return int(found[1]) if found else 0


def _anchor_of(section: Section) -> str:
    return (isinstance(section.head, Heading) and section.head.anchor) or ""
