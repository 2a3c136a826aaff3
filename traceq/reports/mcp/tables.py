"""Answers to questions beyond the report: SQL, what-ifs and comparisons."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from traceq.common.text import printable, quiet_json, shortened
from traceq.common.units import some
from traceq.reports.mcp.budget import AgentAnswer, fit_answer

_CELL, _NAME, _TEXT = 200, 80, 500
_LISTED = 6


def answer_rows(columns: Sequence[str], found: Sequence[Sequence[Any]], most: int, limit: int) -> AgentAnswer:
    """Return the answer with at most `most` of the `found` rows of a SQL query, and a note on what was left out.

    `found` has one row more than `most` where the query has more. Long texts are cut; rows are left out to stay within
    `limit` characters.
    """
    names = [shortened(each, _NAME) for each in columns]
    cells = [[_cut_cell(value) for value in row] for row in found[:most]]
    cut = sum(a != b for row, whole in zip(cells, found, strict=False) for a, b in zip(row, whole, strict=True))
    more = len(found) > most

    def answer(shown: int) -> AgentAnswer:
        notes = [
            f"{some(shown, 'row')} shown, the query has more: narrow it, or page with limit and offset"
            if more or shown < len(cells)
            else f"{some(shown, 'row')}, all of them",
            f"{some(cut, 'long value')} cut to {_CELL} characters" if cut else "",
        ]
        note = "; ".join(filter(None, notes))
        table = [" | ".join(names), *(" | ".join(map(_format_cell, row)) for row in cells[:shown])]
        data = {"columns": names, "rows": cells[:shown], "is_cut": more or shown < len(cells) or cut > 0, "note": note}
        return AgentAnswer("\n".join([*table, f"({note})"]) + "\n", data)

    numbers = [len(cells)]
    while numbers[-1]:
        numbers.append(numbers[-1] * 3 // 4)
    return fit_answer(map(answer, numbers), limit, "select fewer or shorter columns")


def _cut_cell(value: Any) -> Any:
    if isinstance(value, str):
        return shortened(value, _CELL)
    if isinstance(value, list | dict):
        text = json.dumps(value, ensure_ascii=False)
        return value if len(text) <= _CELL else shortened(text, _CELL)
    return value


def _format_cell(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return printable(value).replace("|", "\\|")
    return quiet_json(json.dumps(value, ensure_ascii=False))


def answer_whatif(text: str, whole: str, limit: int) -> AgentAnswer:
    """Return the answer with the text of a what-if (or of possible changes) and the data of its JSON text `whole`.

    Data are shortened, then left out, where the answer would exceed `limit` characters.
    """
    data = json.loads(whole)
    brief = {
        key: value[:_LISTED] if isinstance(value, list) else value for key, value in data.items() if key != "amdahl"
    }
    return fit_answer((AgentAnswer(text, data), AgentAnswer(text, brief), AgentAnswer(text, None)), limit)


def answer_comparison(texts: Iterator[str], whole: str, limit: int) -> AgentAnswer:
    """Return the answer with the first of `texts`, versions of a comparison, that fits into `limit` characters.

    Its data, from the comparison's JSON text `whole`, are the verdict, the change, its reasons and its causes.
    """
    found = json.loads(whole)
    names = (
        "verdict",
        "comparable",
        "base_ns",
        "new_ns",
        "delta_ns",
        "delta_share",
        "interval_ns",
        "p",
        "detectable_ns",
    )
    data = {name: found[name] for name in names}
    for name in ("reasons", "obstacles"):
        data[name] = [shortened(each, _TEXT) for each in found[name][:_LISTED]]
    data["causes"] = [
        {**each, "part": each["part"] and shortened(each["part"], _NAME)} for each in found["named_causes"][:_LISTED]
    ]
    return fit_answer((AgentAnswer(text, data) for text in texts), limit, "traceq compare BASE NEW prints all of it")
