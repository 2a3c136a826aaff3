"""The arguments of an operator as the profiler recorded them: tensors by shape, strides and type, and settings by value."""

from __future__ import annotations

import ast
import json
import re
from math import isfinite, prod
from types import EllipsisType
from typing import NamedTuple

# The profiler's names of element types, and PyTorch's.
ELEMENT_TYPES = {
    "double": "float64",
    "float": "float32",
    "c10::Half": "float16",
    "c10::BFloat16": "bfloat16",
    "c10::bfloat16": "bfloat16",
    "c10::Float8_e4m3fn": "float8_e4m3fn",
    "c10::Float8_e5m2": "float8_e5m2",
    "c10::Float8_e4m3fnuz": "float8_e4m3fnuz",
    "c10::Float8_e5m2fnuz": "float8_e5m2fnuz",
    "c10::complex<float>": "complex64",
    "c10::complex<double>": "complex128",
    "signed char": "int8",
    "unsigned char": "uint8",
    "bool": "bool",
    "short": "int16",
    "short int": "int16",
    "int": "int32",
    "long": "int64",
    "long int": "int64",
}

# A setting, or a list of them. Nothing else is parsed: brackets in brackets would exhaust the parser's stack.
_VALUE = r"-?[\w.]+(?:[-+]\d+)?"
_SETTING = re.compile(rf"{_VALUE}|\[(?:{_VALUE}(?:, *{_VALUE})*)?\]")

# More elements than any memory holds are a damaged record.
_MOST_ELEMENTS = 1 << 44

WITH_SHAPES = "record the trace with torch.profiler.profile(record_shapes=True)"
WITH_SETTINGS = "record the trace with record_shapes=True in PyTorch 2.1 or newer"


class RecordedTensor(NamedTuple):
    """A tensor as recorded: without strides they are not known, and without `dtype` its type is not.

    `fill` says which values stand for those that no trace has: positive or normal numbers, ones, an `index` below `high`, or
    `offsets` of bags of `high` indices.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: str | None
    fill: str = "positive"
    high: int = 0


# An ellipsis stands for a setting that was not recorded.
Setting = bool | int | float | str | list[bool | int | float] | EllipsisType | None
Argument = RecordedTensor | list[RecordedTensor] | Setting


class RecordedInputs(NamedTuple):
    """The profiler's records of the inputs of an operator, each as the text of a JSON list; None where it wrote nothing."""

    dims: str | None
    types: str | None
    strides: str | None
    settings: str | None


def read_arguments(inputs: RecordedInputs) -> list[Argument]:
    """Return the arguments of an operator in the order of its schema. Raises ValueError, which says what the trace lacks."""
    dims, types = _read_list(inputs.dims), _read_list(inputs.types)
    if dims is None or types is None:
        raise ValueError(f"the trace has no shapes of its inputs; {WITH_SHAPES}")
    if len(dims) != len(types):
        raise ValueError("its shapes and types do not go together: the record is damaged")
    strides, settings = _read_list(inputs.strides), _read_list(inputs.settings)
    # older versions recorded every list as an empty one
    has_lists = any(isinstance(part, list) and part and isinstance(part[0], list) for part in dims)
    return [
        _read_argument(
            dims[place],
            str(types[place]),
            strides[place] if strides is not None and place < len(strides) else None,
            None if settings is None or place >= len(settings) else str(settings[place]),
            has_lists=has_lists,
        )
        for place in range(len(dims))
    ]


def _read_list(text: str | None) -> list[object] | None:
    """Return the JSON list, None without one."""
    try:
        value = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, list) else None


def _read_argument(dims: object, type_: str, strides: object, setting: str | None, *, has_lists: bool) -> Argument:
    """Return one argument. Raises ValueError for what cannot be made again."""
    if type_ in ELEMENT_TYPES:
        return RecordedTensor(_read_sizes(dims), _read_strides(strides, dims), ELEMENT_TYPES[type_])
    if type_ == "TensorList":
        if not isinstance(dims, list) or not (dims or has_lists) or not all(isinstance(part, list) for part in dims):
            raise ValueError("the trace lacks the shapes in its list of tensors; record it with a newer PyTorch (2.2)")
        steps = strides if isinstance(strides, list) and len(strides) == len(dims) else [None] * len(dims)
        return [
            RecordedTensor(_read_sizes(part), _read_strides(step, part), None)
            for part, step in zip(dims, steps, strict=True)
        ]
    if dims:
        raise ValueError(f"an input has the type {type_!r}, which cannot be made again")
    if setting is None or (setting == "" and type_):
        return ... if type_ else None
    return _read_setting(setting)


def _read_sizes(dims: object) -> tuple[int, ...]:
    """Return the sizes of a tensor. Raises ValueError for anything else than numbers of elements."""
    if not isinstance(dims, list) or not all(type(size) is int and size >= 0 for size in dims):
        raise ValueError("the shape of an input is damaged")
    if prod(dims) > _MOST_ELEMENTS:
        raise ValueError("an input has more elements than any memory holds: its shape is damaged")
    return tuple(dims)


def _read_strides(strides: object, dims: object) -> tuple[int, ...] | None:
    """Return the strides of a tensor; None if they were not recorded or do not fit its shape."""
    if not isinstance(strides, list) or not isinstance(dims, list) or len(strides) != len(dims):
        return None
    return tuple(strides) if all(type(step) is int and 0 <= step <= _MOST_ELEMENTS for step in strides) else None


def _read_setting(text: str) -> Setting:
    """Return the value of a setting from its text: 1, 0.1, True, [1, 1], -inf; a word stays a text, nothing is None."""
    if not text:
        return None
    try:
        value = ast.literal_eval(text) if _SETTING.fullmatch(text) else None
    except (ValueError, SyntaxError):
        value = None
    if isinstance(value, bool | int | float) or (isinstance(value, list) and all(map(_is_number, value))):
        return value
    try:
        return float(text)
    except ValueError:
        return text


def _is_number(value: object) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and isfinite(value))
