"""Name the function that a Python function is just calling, where that one has no frame of its own as it is written in C."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Mapping
from contextlib import suppress
from dis import opname
from itertools import islice
from types import CodeType, ModuleType
from typing import Any

# Longer expressions before the last dot name nothing that a reader knows.
_LONGEST = 60


def name_called_function(code: CodeType, offset: int, names: Mapping[str, Any]) -> str | None:
    """Return "<built-in function os.fsync>" or "<built-in method file.write>" for a call at this instruction of `code`.

    `offset` is in bytes (f_lasti), `names` are the global names of the function. A `with` statement calls "__enter__" of its
    object. None where the instruction is no call, or the source is not there.
    """
    instructions = code.co_code
    # Python lets go of its lock after a call, at the last of the cells that belong to the instruction.
    while 0 < offset < len(instructions) and opname[instructions[offset]] == "CACHE":
        offset -= 2
    instruction = opname[instructions[offset]] if 0 <= offset < len(instructions) else ""
    # What Python 3.11 specializes is called by PRECALL.
    if not instruction.startswith(("CALL", "PRECALL", "BEFORE_WITH", "LOAD_SPECIAL")):
        return None
    node = _parse_source(code, offset)
    if isinstance(node, ast.Call):
        return _describe_function(node.func, names)
    # Python 3.11 has the whole statement for what later versions have the expression.
    if isinstance(node, ast.With) and len(node.items) == 1:
        node = node.items[0].context_expr
    if isinstance(node, ast.expr) and "CALL" not in instruction:
        return _describe_function(ast.Attribute(node, "__enter__"), names)
    return None


def _parse_source(code: CodeType, offset: int) -> ast.AST | None:
    """Return the expression or statement that the instruction belongs to; None where the source file does not have it."""
    first, last, begin, end = next(islice(code.co_positions(), offset // 2, None), (None, None, None, None))
    if first is None or last is None or begin is None or end is None:
        return None
    lines = [linecache.getline(code.co_filename, line).encode() for line in range(first, last + 1)]
    lines[-1] = lines[-1][:end]
    text = b"".join([lines[0][begin:], *lines[1:]])
    for mode, source in (("eval", b"(" + text + b")"), ("exec", text)):
        with suppress(SyntaxError, ValueError):  # the file may have changed since it was imported
            parsed: Any = ast.parse(source, mode=mode)
            node: ast.AST = parsed.body if mode == "eval" else parsed.body[0]
            return node
    return None


def _describe_function(called: ast.expr, names: Mapping[str, Any]) -> str | None:
    if isinstance(called, ast.Name):
        return f"<built-in function {called.id}>"
    if not isinstance(called, ast.Attribute):
        return None
    owner = ast.unparse(called.value)
    if len(owner) > _LONGEST or not isinstance(called.value, ast.Name | ast.Attribute):
        return f"<built-in method {called.attr}>"
    kind = "function" if isinstance(names.get(owner.partition(".")[0]), ModuleType) else "method"
    return f"<built-in {kind} {owner}.{called.attr}>"
