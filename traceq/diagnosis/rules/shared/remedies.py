"""Remedies of causes, in the words of each kind of program: the texts of remedies.toml."""

from __future__ import annotations

import re
from functools import cache
from string import Template
from typing import TYPE_CHECKING, Any

from traceq.database.sql import package

if TYPE_CHECKING:
    from traceq.diagnosis.program import Program


_HEADING = re.compile(r"^\[(\w+)\]$", re.MULTILINE)


@cache
def all_remedies() -> dict[str, dict[str, str]]:
    """Return the texts of all remedies, by name of the remedy and then by variant of programs."""
    return {name: _texts(name) for name in _sections()}


@cache
def _sections() -> dict[str, str]:
    """Return the TOML text of each remedy by name, unparsed: a report says a few, and parsing all takes ten times as long."""
    _, *parts = _HEADING.split(package().joinpath("diagnosis/rules/shared/remedies.toml").read_text("utf-8"))
    return dict(zip(parts[::2], parts[1::2], strict=True))


@cache
def _texts(name: str) -> dict[str, str]:
    """Return the texts of the remedy by variant of programs."""
    import tomllib

    return tomllib.loads(_sections()[name])


def remedy_for(program: Program, name: str, **given: Any) -> str:
    """Return the text of the remedy `name` that fits the program best; `given` fills in the names that the text has."""
    texts = _texts(name)
    text = next(texts[variant] for variant in program.variants if variant in texts)
    return Template(text).substitute(program.words, **given)
