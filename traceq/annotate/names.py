"""The grammar of marks: what a range is called, in NVTX and in the PyTorch profiler alike.

traceq.step#12              a training step
traceq.phase#forward        a phase of it
traceq.fetch#train          one fetch from a data loader
traceq.module#encoder.0     the forward of a module
traceq.payload#samples=32   numbers about the step in which it stands; has no duration
"""

from __future__ import annotations

import math
import re
import sys
import warnings
from collections.abc import Mapping
from functools import lru_cache

# Profilers write names into JSON, CSV and SQL without care: these characters have broken readers.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\"'\\\\]")
_LONGEST_LABEL = 200
_KEY = re.compile(r"[a-z][a-z0-9_]*")
# More labels than a program writes by hand; whoever makes them up as they go must not fill the memory.
_KEPT_LABELS = 4096

_said_not_finite = False


def step(number: int) -> str:
    """Return the name of the mark of a training step: traceq.step#NUMBER."""
    return f"traceq.step#{number}"


@lru_cache(_KEPT_LABELS)
def phase(label: str) -> str:
    """Return the name of the mark of a phase: traceq.phase#LABEL."""
    return f"traceq.phase#{_clean(label)}"


@lru_cache(_KEPT_LABELS)
def fetch(label: str) -> str:
    """Return the name of the mark of a fetch from a data loader: traceq.fetch#LABEL."""
    return f"traceq.fetch#{_clean(label)}"


@lru_cache(_KEPT_LABELS)
def module(path: str) -> str:
    """Return the name of the mark of a module's forward: traceq.module#PATH."""
    return f"traceq.module#{_clean(path)}"


def payload(numbers: Mapping[str, object]) -> str | None:
    """Return the name of the mark that carries numbers: traceq.payload#KEY=VALUE,...

    Numbers that are not finite are left out, with one warning; None when none is left. Raises TypeError or ValueError
    where values are no plain numbers or keys not lower case.
    """
    plain = {_key(key): _number(key, value) for key, value in numbers.items()}
    finite = {key: number for key, number in plain.items() if isinstance(number, int) or math.isfinite(number)}
    if len(finite) < len(plain):
        _say_not_finite(next((key, number) for key, number in plain.items() if key not in finite))
    return f"traceq.payload#{','.join(f'{key}={number!r}' for key, number in finite.items())}" if finite else None


def label_of(value: object, usage: str) -> str:
    """Return the value if it is text, else raise TypeError, with `usage` as an example of the right call."""
    if isinstance(value, str):
        return value
    raise TypeError(f"a label is text, not {type(value).__name__}: write {usage}")


def _clean(label: str) -> str:
    """Return the first 200 characters of a label with "_" for quotes and control characters; "_" for an empty one."""
    return _UNSAFE.sub("_", label[:_LONGEST_LABEL]) or "_"


def _key(key: str) -> str:
    """Return the key of a payload; raise ValueError unless it is lower-case letters, digits and "_"."""
    if _KEY.fullmatch(key):
        return key
    raise ValueError(f"payload {key!r}: keys are lower-case letters, digits and _, such as micro_batch")


def _number(key: str, value: object) -> int | float:
    """Return the value of a payload as Python's int or float; raise TypeError, which names `key`, for any other type."""
    number = _plain(value)
    if number is None:
        raise TypeError(f"payload {key}: an int or a float is needed, not {_kind(value)}")
    return number


def _say_not_finite(example: tuple[str, float]) -> None:
    """Warn once in a process that a number (key, value), such as a loss of NaN, is not finite; training goes on."""
    global _said_not_finite  # noqa: PLW0603 - once in a process
    if not _said_not_finite:
        _said_not_finite = True
        key, number = example
        text = f"payload {key}: {number} is not a finite number; such numbers are left out of the marks"
        warnings.warn(text, RuntimeWarning, stacklevel=4)


def _plain(value: object) -> int | float | None:
    """Return the number as Python's int or float, also from NumPy's scalars; None for bool and all other types."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return float(value)
    if isinstance(value, int):
        return int(value)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.integer | numpy.floating):
        return _plain(value.item())
    return None


def _kind(value: object) -> str:
    """Return words on the type of the value; for a tensor, which would need a synchronisation, with the way out."""
    kind = type(value)
    if kind.__module__.split(".")[0] == "torch" and hasattr(value, "device"):
        return f"a tensor on {value.device} (pass a number, such as len(batch); traceq does not synchronise)"
    return kind.__name__
