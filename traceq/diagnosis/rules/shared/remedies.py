"""What to do about a cause, in the words of whoever can do it: the texts of remedies.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from traceq.diagnosis.program import Program


@cache
def remedies() -> dict[str, dict[str, str]]:
    """The texts by remedy and variant of programs."""
    return tomllib.loads(files(__package__).joinpath("remedies.toml").read_text("utf-8"))


def remedy(program: Program, name: str, **given: Any) -> str:
    """What fits the program best; `given` are the names in the text that are the rule's."""
    texts = remedies()[name]
    text = next(texts[variant] for variant in program.variants if variant in texts)
    return Template(text).substitute(program.words, **given)
