"""Numbers and names as scripts of the page read them (`unpacked` in drawing.js): small, and fit for a script element."""

from __future__ import annotations

import base64
import json
import zlib
from array import array
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


def pack(head: Mapping[str, Any], columns: Mapping[str, Iterable[int]], rising: frozenset[str]) -> str:
    """Return `head` (as JSON) and the integer columns as one compressed base64 text for the page's scripts.

    Columns named in `rising` are stored as differences between neighbours, which are small.
    """
    packed = [_pack_column(name, values, is_rising=name in rising) for name, values in columns.items()]
    text = json.dumps({**head, "columns": [about for about, _ in packed]}, ensure_ascii=False, separators=(",", ":"))
    content = text.encode()
    whole = b"".join((len(content).to_bytes(4, "little"), content, *(planes for _, planes in packed)))
    return base64.b64encode(zlib.compress(whole, 9)).decode()


def _pack_column(name: str, values: Iterable[int], *, is_rising: bool) -> tuple[tuple[str, int, int, bool], bytes]:
    """Return ((name, length, bytes per number, whether they are differences), the bytes) of a column.

    The bytes begin with the lowest byte of all numbers, then the next one of all, and so on.
    """
    numbers = np.array(values if isinstance(values, array) else list(values), np.int64)
    if is_rising:
        numbers = np.diff(numbers, prepend=0)
    # Negative numbers between the others, so that small ones have small bytes.
    folded = np.where(numbers >= 0, 2 * numbers, -2 * numbers - 1).astype("<u8")
    width = (int(folded.max(initial=0)).bit_length() + 7) // 8
    planes = folded.view(np.uint8).reshape(-1, 8).T[:width]
    return (name, len(numbers), width, is_rising), planes.tobytes()
