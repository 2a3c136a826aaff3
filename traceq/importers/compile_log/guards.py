"""The guards that failed, so that a frame was compiled again: their texts, and the values of the program that they watch."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from traceq.importers.compile_log.records import ProgramLine

# As in "0/0: tensor 'x' size mismatch at index 0. expected 100, actual 101".
_FAILED = re.compile(r"^\s*(?:- )?((?:!?\d+/)?\d+/\d+): (.*)$", re.DOTALL)
_FRAME = re.compile(r'^\s*File "(.+?)", line (\d+), in (\S+)(?:\n\s+(\S.*))?', re.MULTILINE)
# Behind a guard stands the line that needs it, as a comment: its code, file, number and function.
_COMMENT = re.compile(r"\s+# (.*?)\s*(?:# (\S.*?):(\d+) in (\S+))?\s*$", re.DOTALL)
_TENSOR = re.compile(
    r"tensor '(.+?)' (size|stride|dtype|requires_grad|rank|dispatch key set|dispatch_keys|device|type)? ?(mismatch.*)",
    re.DOTALL,
)
_EXPECTED = re.compile(r"expected (?:at index \d+ )?(.+?),? (?:actual|but got|got) (.+?)(?:\.\s*|\s*)$", re.DOTALL)
_EQUAL = re.compile(r"^(.+?) (==|is|!=|is not) (.+)$", re.DOTALL)
# Kinds of constants, in the order in which they are tried.
_VALUES = {
    "bool": re.compile(r"(?:True|False)$"),
    "none": re.compile(r"None$"),
    "int": re.compile(r"-?\d+$"),
    "float": re.compile(r"-?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?$|float\(|-?(?:inf|nan)$"),
    "text": re.compile(r"['\"]"),
}
_LENGTH = re.compile(r"^(?:len\((.+)\)|(.+)\.__len__\(\))$")
_SIZE = re.compile(r"\.(?:size|shape|stride)\b|\bs\d+\b|___check_shape|_shape_env|Ne\(|Eq\(|Mod\(")
_GLOBAL_STATE = re.compile(
    r"(?i)GLOBAL_STATE|grad_mode|___check_global_state|deterministic|autocast|default_device|torch_function_mode|DETERMINISTIC"
)
_OBJECT = re.compile(
    r"___check_obj_id|___check_type_id|id\(|___check_current_backend|___is_torch_function_mode|weakref|type\(.*\) ==|check_type"
)
_LONGEST = 1_000
_MOST_REASONS = 64

_OF_TENSORS = {
    "size": "shape", "stride": "stride", "rank": "shape", "dtype": "dtype", "type": "dtype", "requires_grad": "requires_grad",
    "device": "device",
}  # fmt: skip


class GuardText(NamedTuple):
    """A failed guard by its text; None for what it does not say."""

    failed_id: str | None
    guard: str
    kind: str
    source: str | None
    expected: str | None
    actual: str | None
    place: ProgramLine


def parse_reasons(payload: str) -> list[GuardText]:
    """Return the failed guards of the artifact recompile_reasons: a text, or a JSON list of them; one a version of the frame."""
    text = payload.strip()
    reasons: object = text
    if text.startswith(("[", '"')):
        try:
            reasons = json.loads(text)
        except (ValueError, RecursionError):
            reasons = text
    listed = reasons if isinstance(reasons, list) else [reasons]
    said = [reason for reason in listed if isinstance(reason, str) and reason]
    return [parse_guard(reason) for reason in said[:_MOST_REASONS]]


def parse_guard(text: str) -> GuardText:
    """Return a failed guard by its text, with the kind of change.

    Kinds: shape, stride, dtype, device, requires_grad, int, float, text, length, bool, none, object (another function,
    class or module), state (grad mode, autocast and other settings of the process), other.
    """
    found = _FAILED.match(text)
    failed_id, rest = (found[1].removeprefix("!"), found[2]) if found else (None, text)
    rest, _, traced = rest.partition("\nUser stack trace:")
    frames = list(_FRAME.finditer(traced))
    guard, place = rest.strip(), ProgramLine()
    if (comment := _COMMENT.search(guard)) is not None and guard[: comment.start()].strip():
        guard = guard[: comment.start()].strip()
        code = comment[1].strip() or None
        place = ProgramLine(comment[2], int(comment[3]) if comment[3] else None, comment[4], code)
    if frames:
        innermost = frames[-1]
        place = ProgramLine(
            innermost[1], int(innermost[2]), innermost[3], (innermost[4] or place.code or "").strip() or None
        )
    # "HINT: ..." and "(to avoid ..." are advice of PyTorch, not the guard
    said = re.split(r"\s*\(HINT:|\s+HINT:", guard)[0].strip()[:_LONGEST]
    kind, source, expected, actual = _split_guard(said)
    return GuardText(failed_id, said, kind, source, expected, actual, place)


def _split_guard(guard: str) -> tuple[str, str | None, str | None, str | None]:
    """Return (kind, source, expected, actual) of a guard's text; None for what it does not say."""
    if (tensor := _TENSOR.search(guard)) is not None:
        values = _EXPECTED.search(tensor[3])
        kind = _kind_of_tensor(guard, tensor[2])
        return kind, _clean_source(tensor[1]), values[1] if values else None, values[2] if values else None
    if _GLOBAL_STATE.search(guard):
        return "state", None, None, None
    if _OBJECT.search(guard):
        inner = re.search(r"\(([^,()]+(?:\([^()]*\))?[^,()]*)(?:, .*)?\)", guard)
        return "object", _clean_source(inner[1]) if inner else None, None, None
    equal = _EQUAL.match(guard)
    if equal is not None:
        left, operator, right = equal[1].strip(), equal[2], equal[3].strip()
        length = _LENGTH.match(left)
        source = length[1] or length[2] if length else left
        return "length" if length else _kind_of_value(left, operator, right), _clean_source(source), right, None
    if guard.startswith("not "):
        return "bool", _clean_source(guard.removeprefix("not ")), "False", None
    return "shape" if _SIZE.search(guard) else "other", None, None, None


def _kind_of_tensor(guard: str, mismatch: str | None) -> str:
    """Return the kind of a guard on a tensor, by what mismatches (None where the text says it elsewhere)."""
    known = _OF_TENSORS.get(mismatch or "")
    return known or next((kind for kind in ("requires_grad", "dtype", "dispatch") if kind in guard), "other")


def _kind_of_value(left: str, operator: str, right: str) -> str:
    """Return the kind of a guard that compares the value `left` with the constant `right`."""
    if _SIZE.search(left):
        return "shape"
    found = next((kind for kind, pattern in _VALUES.items() if pattern.match(right)), None)
    return found or ("other" if operator == "==" else "object")


def _clean_source(source: str) -> str:
    """Return the value as the program writes it: L['self'].calls is self.calls, G['scale'] is scale."""
    cleaned = re.sub(r"\b[LG]\['([^']+)'\]", r"\1", source.strip())
    return re.sub(r"\._(?:modules|parameters|buffers)\['([^']+)'\]", r".\1", cleaned)[:_LONGEST]
