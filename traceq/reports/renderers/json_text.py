"""What all JSON of traceq has in common: sorted keys, no NaN, and dataclasses as objects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from operator import attrgetter
from typing import Any

from traceq.common.text import quiet_json

Renamed = Mapping[type, Mapping[str, str]]


def json_text(content: Mapping[str, object], renamed: Renamed | None = None) -> str:
    """`content` as JSON that ends a line; `renamed` says for a dataclass which fields have another key than their name."""

    def of(value: object) -> object:
        if isinstance(value, Fraction):
            return int(value) if value.denominator == 1 else float(value)
        return plain(value, renamed or {})

    text = json.dumps(content, default=of, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=2)
    return quiet_json(text) + "\n"


def plain(value: Any, renamed: Renamed) -> dict[str, Any]:
    """The fields of a dataclass by their keys; the dataclasses in them stay what they are."""
    names = renamed.get(type(value), {})
    return {names.get(each.name, each.name): getattr(value, each.name) for each in fields(value)}


def picked(value: object, *paths: str) -> dict[str, Any]:
    """Some attributes of an object under their own names; "point.value" is the value of its point, under "value"."""
    return {path.rpartition(".")[2]: attrgetter(path)(value) for path in paths}
