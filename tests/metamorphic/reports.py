"""Whole reports of trace files as JSON, but for where the file lies and how rows are numbered, and their differences."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import traceq

# What says which file it is, how it is written, and how its rows are numbered; the texts of queries name such numbers, and
# commands in the lines of a verdict the file.
_OF_THE_FILE = re.compile(
    r"\.(queries|query|sql|notes|sha256|utc_origin_ns)$|\.trace\.(file|size_bytes)$|^\.jobs\[\d+\]\.name$|\.verdict\.lines$"
)
_ROW_NUMBER = re.compile(r"[._](slice|gap|busy|launch|thread|piece|operator|annotation|t|p)_?id$")
_INSTANT = re.compile(r"[._](ts(_end)?(_ns)?|begin_ns)$")
_NUMBER = re.compile(r"-?[\d.,]+")

# Sums of doubles, in another order.
_NEAR = 1e-6


def report_json(path: Path) -> Any:
    """Return the report of a trace file as JSON values, asked of a database that is not kept."""
    return json.loads(traceq.report(path, top=100, cache=False, drawn=False).to_json())


def compare_reports(found: Any, expected: Any, moved_by: int = 0, rounded_by: int = 0) -> list[str]:
    """Return the differences between two reports, one line each with its place.

    Instants must differ by `moved_by` ns; durations may by `rounded_by` ns.
    """
    return list(_differences(found, expected, (moved_by, rounded_by), ""))


def _differences(found: Any, expected: Any, by: tuple[int, int], place: str) -> Iterator[str]:
    name = re.sub(r"\[\d+\]$", "", place)
    if _OF_THE_FILE.search(name) or _ROW_NUMBER.search(name):
        return
    if isinstance(expected, dict) and isinstance(found, dict):
        if {"columns", "rows"} <= expected.keys() & found.keys():
            found, expected = ({"rows": _list_records(table)} for table in (found, expected))
        for key in sorted(expected.keys() | found.keys()):
            yield from _differences(found.get(key, "lacking"), expected.get(key, "lacking"), by, f"{place}.{key}")
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for number, pair in enumerate(zip(found, expected, strict=True)):
            yield from _differences(*pair, by, f"{place}[{number}]")
    elif not _is_same(found, expected, by, name):
        yield f"{place}: {str(found)[:80]}, expected {str(expected)[:80]}"


def _list_records(table: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


def _is_same(found: Any, expected: Any, by: tuple[int, int], name: str) -> bool:
    """Return whether two values are equal; where all is moved, sentences may name other instants."""
    moved_by, rounded_by = by
    if isinstance(expected, str) and isinstance(found, str) and moved_by:
        return _NUMBER.sub("#", found) == _NUMBER.sub("#", expected)
    if isinstance(found, bool) or not (isinstance(found, int | float) and isinstance(expected, int | float)):
        return bool(found == expected)
    if _INSTANT.search(name):
        return bool(found == expected + moved_by)
    return math.isclose(found, expected, rel_tol=_NEAR, abs_tol=max(1e-9, rounded_by if name.endswith("_ns") else 0))


# Judgements hang on limits, which are lengths of time: no part of a report's facts. So do the sizes of gaps, and the replay.
_JUDGED = {"account", "clean", "extra_findings", "findings", "observations", "small", "verdict", "not_applicable"}
_FACTS_OF_LIMITS = {"gap_sizes", "findings_left_out", "extra_left_out", "critical_path", "replay_error", "once_ns"}
_RATES = {"best_gb_per_s", "bus_gb_per_s", "gb_per_s", "tflop_per_s", "per_second"}
_RATES |= {"kernel_efficiency_share", "mfu_share", "peak_share"}


def pick_facts(report: Any) -> dict[str, Any]:
    """Return what a report of one trace says of it, without what was judged."""
    (trace,) = report["traces"]
    return {key: value for key, value in trace.items() if key not in _JUDGED}


def scale_facts(facts: Any, factor: int, name: str = "", *, is_time: bool = False) -> Any:
    """Return the facts of a program of which all takes `factor` times as long: durations are, rates fall, the rest stays.

    Instants, and what hangs on limits, are left out.
    """
    is_time = is_time or name.endswith("_ns")
    if isinstance(facts, dict):
        return {
            key: scale_facts(value, factor, key, is_time=is_time)
            for key, value in facts.items()
            if key not in _FACTS_OF_LIMITS and not _INSTANT.search("." + key)
        }
    if isinstance(facts, list):
        return [scale_facts(fact, factor, name, is_time=is_time) for fact in facts]
    if not isinstance(facts, int | float) or isinstance(facts, bool):
        return facts
    return facts * factor if is_time else facts / factor if name in _RATES else facts
