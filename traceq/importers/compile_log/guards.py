"""Which guard failed, so that a frame was compiled again: its text, and what of the program it watches."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from traceq.importers.compile_log.records import Place

# 0/0: tensor 'x' size mismatch at index 0. expected 100, actual 101
_FAILED = re.compile(r"^\s*(?:- )?((?:!?\d+/)?\d+/\d+): (.*)$", re.DOTALL)
_FRAME = re.compile(r'^\s*File "(.+?)", line (\d+), in (\S+)(?:\n\s+(\S.*))?', re.MULTILINE)
# # y = x * n  # program.py:4 in f
_COMMENT = re.compile(r"\s+# (.*?)\s*(?:# (\S.*?):(\d+) in (\S+))?\s*$", re.DOTALL)
_TENSOR = re.compile(
    r"tensor '(.+?)' (size|stride|dtype|requires_grad|rank|dispatch key set|dispatch_keys|device|type)? ?(mismatch.*)",
    re.DOTALL,
)
_EXPECTED = re.compile(r"expected (?:at index \d+ )?(.+?),? (?:actual|but got|got) (.+?)(?:\.\s*|\s*)$", re.DOTALL)
_EQUAL = re.compile(r"^(.+?) (==|is|!=|is not) (.+)$", re.DOTALL)
_NUMBER = re.compile(r"^-?\d+$")
_FRACTION = re.compile(r"^-?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?$|^float\(|^-?(?:inf|nan)$")
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
    """What the text of a failed guard says; None for what it does not."""

    failed_id: str | None
    guard: str
    kind: str
    source: str | None
    expected: str | None
    actual: str | None
    place: Place


def parse_reasons(payload: str) -> list[GuardText]:
    """Return the failed guards of the artifact recompile_reasons: a text, or a JSON list of them; one a version of the frame."""
    text = payload.strip()
    if text.startswith("["):
        try:
            listed = json.loads(text)
        except (ValueError, RecursionError):
            listed = [text]
        reasons = [reason for reason in listed if isinstance(reason, str)]
    elif text.startswith('"'):
        try:
            decoded = json.loads(text)
        except (ValueError, RecursionError):
            decoded = text
        reasons = [decoded if isinstance(decoded, str) else text]
    else:
        reasons = [text] if text else []
    return [parse_guard(reason) for reason in reasons[:_MOST_REASONS]]


def parse_guard(text: str) -> GuardText:
    """Return what one failed guard says, and the kind of what changed.

    Kinds: shape, stride, dtype, device, requires_grad, int, float, text, length, bool, none, object (another function,
    class or module), state (grad mode, autocast and other settings of the process), other.
    """
    found = _FAILED.match(text)
    failed_id, rest = (found[1].removeprefix("!"), found[2]) if found else (None, text)
    rest, _, traced = rest.partition("\nUser stack trace:")
    frames = list(_FRAME.finditer(traced))
    guard, place = rest.strip(), Place()
    if (comment := _COMMENT.search(guard)) is not None and guard[: comment.start()].strip():
        guard = guard[: comment.start()].strip()
        code = comment[1].strip() or None
        place = Place(comment[2], int(comment[3]) if comment[3] else None, comment[4], code)
    if frames:
        innermost = frames[-1]
        place = Place(innermost[1], int(innermost[2]), innermost[3], (innermost[4] or place.code or "").strip() or None)
    # "HINT: ..." and "(to avoid ..." are advice of PyTorch, not the guard
    said = re.split(r"\s*\(HINT:|\s+HINT:", guard)[0].strip()[:_LONGEST]
    kind, source, expected, actual = _split_guard(said)
    return GuardText(failed_id, said, kind, source, expected, actual, place)


def _split_guard(guard: str) -> tuple[str, str | None, str | None, str | None]:
    """Return (kind, source, expected, actual) of a guard's text; None for what it does not say."""
    if (tensor := _TENSOR.search(guard)) is not None:
        values = _EXPECTED.search(tensor[3])
        kind = _OF_TENSORS.get(tensor[2] or "", "other")
        if kind == "other" and "requires_grad" in guard:
            kind = "requires_grad"
        elif kind == "other" and ("dtype" in guard or "dispatch" in guard):
            kind = "dtype" if "dtype" in guard else "dispatch"
        return kind, _clean_source(tensor[1]), values[1] if values else None, values[2] if values else None
    if _GLOBAL_STATE.search(guard):
        return "state", None, None, None
    if _OBJECT.search(guard):
        inner = re.search(r"\(([^,()]+(?:\([^()]*\))?[^,()]*)(?:, .*)?\)", guard)
        return "object", _clean_source(inner[1]) if inner else None, None, None
    negated = guard.startswith("not ")
    if negated and not _EQUAL.match(guard):
        source = guard.removeprefix("not ").strip()
        return "bool", _clean_source(source), "False", None
    equal = _EQUAL.match(guard)
    if equal is None:
        return "shape" if _SIZE.search(guard) else "other", None, None, None
    left, operator, right = equal[1].strip(), equal[2], equal[3].strip()
    length = _LENGTH.match(left)
    if length is not None:
        return "length", _clean_source(length[1] or length[2]), right, None
    return _kind_of_value(left, operator, right), _clean_source(left), right, None


def _kind_of_value(left: str, operator: str, right: str) -> str:
    """Return the kind of a guard that compares the value `left` with the constant `right`."""
    if _SIZE.search(left):
        return "shape"
    if right in ("True", "False"):
        return "bool"
    if right == "None":
        return "none"
    if _NUMBER.match(right):
        return "int"
    if _FRACTION.match(right):
        return "float"
    if right[:1] in "'\"":
        return "text"
    return "other" if operator == "==" else "object"


def _clean_source(source: str) -> str:
    """Return the value as the program writes it: L['self'].calls is self.calls, G['scale'] is scale."""
    cleaned = re.sub(r"\b[LG]\['([^']+)'\]", r"\1", source.strip())
    return re.sub(r"\._(?:modules|parameters|buffers)\['([^']+)'\]", r".\1", cleaned)[:_LONGEST]
