"""The form of all JSON of traceq: sorted keys, no NaN, and records as objects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from operator import attrgetter
from typing import Any

from traceq.common.text import quiet_json


def json_text(content: Mapping[str, object]) -> str:
    """Return `content` as indented JSON text with sorted keys and a final newline; records become objects of their fields."""
    text = json.dumps(content, default=_encode, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=2)
    return quiet_json(text) + "\n"


def _encode(value: object) -> object:
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    return to_dict(value)


def to_dict(value: Any) -> dict[str, Any]:
    """Return the values of a record's fields by name; values that are records stay as they are."""
    return {name: getattr(value, name) for name in value.__struct_fields__}


def pick(value: object, *paths: str) -> dict[str, Any]:
    """Return the attributes of `value` at the dotted paths, by the path's last name: "point.value" gives the key "value"."""
    return {path.rpartition(".")[2]: attrgetter(path)(value) for path in paths}
