"""Why a graph broke: the text that torch.compile gives, and the kind of cause that it names."""

from __future__ import annotations

import re
from typing import NamedTuple

from traceq.importers.compile_log.records import ProgramLine

_PLACE = re.compile(r"^Graph break (?:\(details suppressed\) )?in user code at (.+):(\d+)$", re.MULTILINE)
_REASON = re.compile(
    r"^(?:Graph Break )?Reason: (.*?)(?=^User code traceback:|^Traceback \(most recent|\Z)", re.MULTILINE | re.DOTALL
)
_FRAME = re.compile(r'^\s*File "(.+?)", line (\d+), in (\S+)(?:\n\s+(?!File ")(\S.*))?', re.MULTILINE)
_STACK = re.compile(r"^User code traceback:\n(.*?)(?=^Traceback \(most recent|^\S|\Z)", re.MULTILINE | re.DOTALL)
_HINT = re.compile(r"^\s*Hint: (.+)$", re.MULTILINE)
_ADVICE = re.compile(r"^\s*(?:Hint: .*|For more details about this graph break.*)$", re.MULTILINE)
_CONTEXT = re.compile(r"^\s*Developer debug context: (.+)$", re.MULTILINE)
_NO_REASON = re.compile(
    r"^(?:Encountered graph break when attempting to trace .*|Failed to handle graph break gracefully.*"
    r"|Graph break encountered:.*)$"
)
_SKIPS = re.compile(r"Skipping the function and falling back to eager|Skip(?:ping)? frame", re.IGNORECASE)
_LIBRARY = re.compile(r"[/\\](?:site|dist)-packages[/\\]|[/\\]lib[/\\]python3\.\d+[/\\]|^<frozen ")
_LONGEST = 2_000

# Kind -> what the reason or its context says, the first that fits. Words of PyTorch 2.1 to 2.13.
_KINDS = {
    "print": (r"builtin operator `print`", r"\bbuiltin print\b", r"call_function BuiltinVariable\(print\)"),
    "logging": (r"(?i:logging\.Logger|logger method|logging function)", r"warnings\.warn", "reorderable_logging"),
    "item": (r"\.(?:item|tolist)\(\)", r"call_method TensorVariable\(\) (?:item|tolist)", "_local_scalar_dense"),
    "branch": (
        r"(?i:data.dependent (?:branching|jump|control flow|assertion))", "generic_jump TensorVariable",
        "control flow on a tensor",
    ),
    "shape": (
        r"(?i:dynamic shape operator)", r"(?i:data.dependent (?:operator|shape|expression))", "DynamicOutputShape",
        r"(?i:could not (?:guard|extract specialized))",
    ),
    "disabled": (r"torch\._dynamo\.disable", r"torch\.compiler\.disable", "disabled function"),
    "asked": (r"torch\._dynamo\.graph_break",),
    "generator": (r"(?i:\bgenerator\b)", r"\byield\b"),
    "context_manager": (r"(?i:context manager)",),
    "builtin": (r"Failed to trace builtin operator", r"builtin: [a-z]+ ", "call_function BuiltinVariable"),
    "c_function": (
        r"C/C\+\+ (?:binding|function)", "SkipFunctionVariable", "marked as skipped", "(?i:attempted to call function)",
        "unsupported builtin", "C extension",
    ),
    "backward": (r"(?i:\bbackward\b)", r"autograd\.grad", r"\bhook\b", "register_hook"),
    "custom_operator": (r"(?i:fake (?:impl|kernel))", "(?i:unsupported operator)"),
}  # fmt: skip
_COMPILED_KINDS = {kind: re.compile("|".join(patterns)) for kind, patterns in _KINDS.items()}


class BreakText(NamedTuple):
    """A graph break by its text; None for what it does not say."""

    place: ProgramLine
    frames: tuple[ProgramLine, ...]
    inside: str | None
    kind: str
    reason: str
    hint: str | None
    context: str | None
    stack: str | None
    skips_function: bool


def parse_break(text: str) -> BreakText:
    """Return what the text of the artifact dynamo_graph_break_reason says: the line, the cause, and the program's stack."""
    found = _REASON.search(text)
    reason = (found[1] if found else text).strip()
    traced = _STACK.search(text)
    frames = tuple(
        ProgramLine(frame[1], int(frame[2]), frame[3], frame[4].strip() if frame[4] else None)
        for frame in (_FRAME.finditer(traced[1]) if traced else ())
    )
    stated = _PLACE.search(text)
    deepest = ProgramLine(stated[1], int(stated[2])) if stated else frames[-1] if frames else ProgramLine()
    if frames and (frames[-1].file, frames[-1].line) == (deepest.file, deepest.line):
        deepest = frames[-1]
    own = deepest
    if is_of_library(deepest.file):
        own = next((frame for frame in reversed(frames) if not is_of_library(frame.file)), deepest)
    hint, context = _HINT.search(reason), _CONTEXT.search(reason)
    return BreakText(
        own,
        frames,
        None if own is deepest else f"{deepest.file}({deepest.line}): {deepest.function or '?'}",
        kind_of_break(reason),
        summarise_reason(reason),
        hint[1].strip()[:_LONGEST] if hint else None,
        context[1].strip()[:_LONGEST] if context else None,
        traced[1].rstrip()[:_LONGEST] if traced else None,
        _SKIPS.search(reason) is not None,
    )


def is_of_library(file: str | None) -> bool:
    """Return whether a file is of Python or of an installed package, not of the program."""
    return file is not None and _LIBRARY.search(file) is not None


def summarise_reason(reason: str) -> str:
    """Return the line of a reason that says the cause: without what all of them begin with, hints and explanations."""
    lines = [line.strip() for line in reason.splitlines() if line.strip()]
    said = [line for line in lines if _NO_REASON.match(line) is None]
    return (said or lines or ["no reason is logged"])[0][:_LONGEST]


def kind_of_break(reason: str) -> str:
    """Return the kind of the cause by its first line and what it is about, else by all but its hints; "other" for none."""
    context = _CONTEXT.search(reason)
    first = f"{summarise_reason(reason)}\n{context[1] if context else ''}"
    for said in (first, _ADVICE.sub("", reason)):
        for kind, pattern in _COMPILED_KINDS.items():
            if pattern.search(said):
                return kind
    return "other"
