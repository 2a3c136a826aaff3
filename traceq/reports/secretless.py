"""Reports and rows for a machine that helps its user: names stay, what is a secret by its sign does not (sharing.signs)."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, TypeVar

from traceq.common.text import shortened
from traceq.reports.held_texts import QUERIES, SENTENCES, change_parts, list_texts, map_texts
from traceq.sharing.signs import hide_in_name, hide_in_sentence

_Value = TypeVar("_Value")

_CUT = 80  # as rules write names
# Columns whose numbers are sizes or ranks, in any joint, and those of digests that traceq made.
_SIZES = re.compile(r".*(?:shapes?|dims|strides|grid|block|ranks|tile)", re.IGNORECASE)
_DIGESTS = re.compile(r".*(?:sha256|hash|digest)", re.IGNORECASE)
_OF_SQL = re.compile(rf"{QUERIES.pattern}|sql", re.IGNORECASE)
_HIDDEN = "-- A secret of the trace was hidden in this query, which therefore finds something else.\n"


def hide_secrets(value: _Value) -> _Value:
    """Return a report, comparison or what-if without what is secret by its sign: the same label wherever a text stands."""
    quoted: dict[str, str] = {}
    for field, text in list_texts(value):
        hidden = _hide_in_id(text) if field == "finding_id" else text
        if not SENTENCES.fullmatch(field) and field != "finding_id":
            hidden = _hide_in_field(field, text)
        if hidden != text or field == "finding_id":
            quoted |= {shortened(text, _CUT): shortened(hidden, _CUT), text: hidden}
    longest_first = sorted(map(re.escape, quoted), key=lambda text: (-len(text), text))
    pattern = re.compile("|".join(longest_first)) if longest_first else None

    def change_text(field: str, text: str) -> str:
        if text in quoted:
            return quoted[text]
        if not SENTENCES.fullmatch(field):
            return _hide_in_field(field, text)
        if pattern is None:
            return _mark_query(field, text, hide_in_sentence(text))
        return _mark_query(field, text, change_parts(text, pattern, quoted.__getitem__, hide_in_sentence))

    changed: _Value = map_texts(value, change_text)
    return changed


def hide_in_rows(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], ids: Collection[str]
) -> tuple[list[str], list[list[Any]]]:
    """Return the columns' names and the rows of a query without secrets in texts, at any depth; `ids` of findings stay."""

    def change_cell(column: str, text: str) -> str:
        if text in ids:
            return text
        if _OF_SQL.fullmatch(column):
            return _mark_query("query", text, hide_in_sentence(text))
        return _hide_in_field(column, text)

    shown = [[map_texts(cell, change_cell, column) for column, cell in zip(columns, row, strict=True)] for row in rows]
    return list(map(hide_in_name, columns)), shown


def _mark_query(field: str, text: str, shown: str) -> str:
    """Return the text to show, with a comment before a query in which something was hidden."""
    return _HIDDEN + shown if shown != text and QUERIES.fullmatch(field) else shown


def _hide_in_field(field: str, text: str) -> str:
    """Return a name without secrets; in columns of sizes numbers stay, digests stay as they are."""
    if _DIGESTS.fullmatch(field):
        return text
    return hide_in_sentence(text) if _SIZES.fullmatch(field) else hide_in_name(text)


def _hide_in_id(finding_id: str) -> str:
    """Return a finding's id, parts of which are joined by `@` as mail addresses are, without secrets in its parts."""
    return "@".join(map(hide_in_name, finding_id.split("@")))
