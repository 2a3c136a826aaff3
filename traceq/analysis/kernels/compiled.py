"""Kernels of torch.compile as it describes them: plain records, so that reading them loads neither numpy nor Arrow."""

from __future__ import annotations

from typing import NamedTuple


class Origin(NamedTuple):
    """The origin of a part of a compiled kernel: an operator, the program's line as FILE(LINE): FUNCTION, and the line's code."""

    operator: str | None
    line: str | None
    code: str | None


class Compiled(NamedTuple):
    """A kernel as torch.compile describes it; `hash` is the name of the generated file that holds it, None if unknown.

    `told_by` is "provenance" (Inductor's own record) or "code" (comments in the generated code).
    """

    name: str
    hash: str | None
    origins: tuple[Origin, ...]
    told_by: str


class CompiledCall(NamedTuple):
    """A call in the code of a compiled graph: the operator that a trace shows for it, and its module (None if unknown)."""

    operator: str
    module: str | None


class CompiledGraph(NamedTuple):
    """The calls of a compiled graph, in their order. `key` is its name in traces (Call CompiledFxGraph KEY), None if unknown."""

    key: str | None
    calls: tuple[CompiledCall, ...]
