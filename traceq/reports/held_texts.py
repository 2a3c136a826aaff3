"""The texts that a report or a comparison holds, and how each of them is replaced where it stands."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from traceq.formats.made_with import is_harmless
from traceq.reports.flame import Frame
from traceq.reports.model import Device, DeviceLedger, Straggler
from traceq.reports.timeline import Called
from traceq.reports.topics.critical_path import PathName
from traceq.reports.topics.kernels import KernelName
from traceq.runs.compare.comparison import ChangePart
from traceq.runs.job.change import UnitChange
from traceq.runs.job.job import JobStraggler
from traceq.runs.made_with import UNSET, Difference

# Fields whose values are traceq's own whatever the trace holds: other programs rely on these words.
_OWN_FIELDS = re.compile(
    "sha256|format|rule|confidence|severity|category|cause|bucket|small|state|metric|columns|side|kind|"
    "operation|limiter|verdict|how|what|statistic|shape|base_shape|source|level|position|size_class|op|property|value|limit"
)
# Fields that are sentences of traceq, in which a text of the trace may stand. Every other text is a name.
SENTENCES = re.compile(
    "title|text|detail|reason|remedy|error|fix|wrong_if|confidence_reason|references|query|queries|code|label|answers|needs|"
    "ways|memory|evidence|reasons|obstacles|assumptions|remarks|lost|saturated|cannot_tell|device_name|producer|compute_capability|excluded|options|note|unit|because"
)
_OF_KERNELS = ("compute", "communication")
# Of these, SQL.
QUERIES = re.compile("query|queries|code")


def list_texts(value: Any) -> list[tuple[str, str]]:
    """Return (field, text) of all texts in a report, comparison or what-if that may come from the trace."""
    collected: list[tuple[str, str]] = []

    def collect_text(name: str, text: str) -> str:
        collected.append((name, text))
        return text

    map_texts(value, collect_text)
    return collected


def map_texts(value: Any, change: Callable[[str, str], str], name: str = "") -> Any:
    """Return `value` with each text replaced by `change(field, text)`, at any depth; texts that traceq itself writes stay.

    `name` is the field or column that `value` is in.
    """
    if isinstance(value, str):
        return change(name, value)
    if isinstance(value, Difference) and _is_harmless(value):
        return value
    if isinstance(value, msgspec.Struct):
        names = [field for field in value.__struct_fields__ if not _OWN_FIELDS.fullmatch(field)]
        held = {name: getattr(value, name) for name in names}
        changed = {name: map_texts(member, change, _field_kind(value, name)) for name, member in held.items()}
        if "rows" in held and hasattr(value, "columns"):  # the rows of a table by its columns
            changed["rows"] = tuple(
                tuple(map_texts(cell, change, column) for column, cell in zip(value.columns, row, strict=True))
                for row in held["rows"]
            )
        return replace(value, **changed)
    if isinstance(value, tuple | list):
        items = [map_texts(item, change, name) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, Mapping):
        return {change(name, key): map_texts(member, change, name) for key, member in value.items()}
    return value


def _is_harmless(difference: Difference) -> bool:
    values = (value for side in difference.values for value in side)
    return all(value == UNSET or is_harmless(difference.name, value) for value in values)


def _field_kind(holder: Any, field: str) -> str:
    """Return the name by which to treat the texts of a field of `holder`: "kernel", "title", "device_name", "span" or its own."""
    if isinstance(holder, ChangePart) and field in ("base_names", "new_names") and holder.category in _OF_KERNELS:
        return "kernel"
    if field != "name":
        return field
    if isinstance(holder, UnitChange | JobStraggler | Straggler):
        return "title"
    if isinstance(holder, Device | DeviceLedger):
        return "device_name"
    if isinstance(holder, Called | Frame):
        return "kernel" if holder.kind in _OF_KERNELS else "span"
    is_kernel = isinstance(holder, KernelName) or (isinstance(holder, PathName) and holder.kind == "gpu")
    return "kernel" if is_kernel else field


def change_parts(
    text: str, pattern: re.Pattern[str], change: Callable[[str], str], change_between: Callable[[str], str]
) -> str:
    """Return the text with `change` applied to each match of the pattern, and `change_between` to the text between matches."""
    shown, at = [], 0
    for match in pattern.finditer(text):
        shown += [change_between(text[at : match.start()]), change(match[0])]
        at = match.end()
    return "".join([*shown, change_between(text[at:])])
