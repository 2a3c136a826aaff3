"""Logs of monitors that are damaged or hostile: words, lines and members of the logs in tests/importers/monitors changed."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

from values import TEXTS, damage_bytes, draw_hostile, json_text

_LOGS = sorted((Path(__file__).resolve().parents[1] / "importers" / "monitors").iterdir())
_WORDS = (
    *(
        "1e308",
        "-1e308",
        "1e999",
        "nan",
        "inf",
        "[N/A]",
        "N/A",
        "",
        "-",
        "0x1F",
        "18446744073709551616",
        "99999999999",
        "-5",
    ),
    *(
        "9" * 400,
        "2026-13-45 25:61:61",
        "1970-01-01 00:00:00",
        "9999-12-31 23:59:59",
        "0001-01-01 00:00:00",
        "12/31/69",
        "24:00:00",
    ),
    *(
        "1700000000.123456789",
        "9999999999",
        "000000000",
        "2026-11-26T02:30:53+99:99",
        "2026-11-26T02:30:53-23:59",
        "12:00:00 PM",
    ),
)


def log(rng: random.Random) -> tuple[bytes, str]:
    """The content of a file and the end of its name."""
    path = rng.choice(_LOGS)
    text = path.read_text(encoding="utf-8")
    for _ in range(rng.choice((1, 1, 2, 5))):
        text = _change_json(text, rng) if path.suffix == ".json" and rng.random() < 0.7 else _change_lines(text, rng)
    content = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.1:
        content = b"\xff\xfe" + text.encode("utf-16-le", "surrogatepass")
    return (damage_bytes(content, rng) if rng.random() < 0.3 else content), path.suffix


def _change_lines(text: str, rng: random.Random) -> str:
    what = rng.randrange(6)
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    if what == 0:
        del lines[at]
    elif what == 1:
        lines[at:at] = [rng.choice(lines)] * rng.choice((1, 100))
    elif what == 2:
        rng.shuffle(lines)
    elif what == 3:
        lines[at] = lines[at].replace(rng.choice((",", " ", ":", "=", "%")), rng.choice(("", ";", "\t", ",,", " ")))
    else:
        words = list(re.finditer(r"[^\s,]+", text))
        if words:
            word = rng.choice(words)
            return text[: word.start()] + rng.choice((*_WORDS, rng.choice(TEXTS))) + text[word.end() :]
    return "\n".join(lines)


def _change_json(text: str, rng: random.Random) -> str:
    try:
        content = json.loads(text)
    except ValueError:
        return text
    places: list[tuple[Any, Any]] = []
    waiting: list[Any] = [content]
    while waiting:
        each = waiting.pop()
        if isinstance(each, (dict, list)):
            keys = list(each) if isinstance(each, dict) else range(len(each))
            places += [(each, key) for key in keys]
            waiting += [each[key] for key in keys]
    if not places:
        return text
    container, key = rng.choice(places)
    if rng.random() < 0.3:
        del container[key]
    else:
        container[key] = rng.choice((draw_hostile(rng), rng.choice(_WORDS)))
    return json_text(json.dumps(content))
