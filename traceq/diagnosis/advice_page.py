"""What is said to whom, as one page: docs/advice.md."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from traceq.common.text import markdown
from traceq.database.sql import shelved
from traceq.diagnosis.query import rule_query
from traceq.diagnosis.rules.shared.remedies import remedies, remedy

if TYPE_CHECKING:
    from traceq.diagnosis.program import Program

_INTRODUCTION = """\
# Advice by program

What a report says to do depends on the program (`program`, [metrics.md](metrics.md#the-program-program)): the same cause has
another remedy in PyTorch, in CuPy, in C++ or in a server. Rules name a remedy; `remedies.toml` beside them has its words by
program. A text that several programs get stands here once. What is switched on already (compilation, graphs, fused attention,
fused optimizers, 16 bits, larger segments of the allocator, DDP) is asked for by none.

"""


def page(programs: Mapping[str, Program], given: Mapping[str, Any]) -> str:
    """All remedies in Markdown, each text with the programs that it is said to; `given` stands for what rules know."""
    return _INTRODUCTION + "\n".join([*_rules(), *_remedies(programs, given)]) + "\n"


def _rules() -> Iterator[str]:
    yield "## What rules say\n"
    yield "A rule that is for some programs is not asked of the others. One without a remedy says the same to all.\n"
    yield "| rule | for | remedies |"
    yield "|---|---|---|"
    named = re.compile(rf"['\"]({'|'.join(remedies())})['\"]")
    for name in sorted(shelved("diagnosis/rules")):
        header = rule_query(name).header
        if "title" in header:
            said = dict.fromkeys(named.findall(" ".join(header.values())))
            links = ", ".join(f"[{each.replace('_', ' ')}](#{each.replace('_', '-')})" for each in said)
            yield f"| {name.replace('_', '-')} | {header.get('for', 'all')} | {links} |"
    yield ""


def _remedies(programs: Mapping[str, Program], given: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(remedies()):
        said: dict[str, list[str]] = {}
        for whom, program in programs.items():
            said.setdefault(remedy(program, name, **given), []).append(whom)
        yield f"\n## {name.replace('_', ' ')}\n"
        yield "| said to | |"
        yield "|---|---|"
        for text, listeners in said.items():
            yield f"| {', '.join(listeners)} | {markdown(text) or '(nothing)'} |"
