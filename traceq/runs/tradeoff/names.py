"""The value of a knob by the name of a file, where that says which knob it is: bs64, batch_size=64, w4."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

# The longest of a knob first, so that none is taken for the end of another.
_LABELS = {
    "batch_size": ("batch_size", "batchsize", "batch", "mbs", "bs"),
    "num_workers": ("num_workers", "workers", "nw"),
    "prefetch_factor": ("prefetch_factor", "prefetch"),
    "samples": ("samples",),
    "sequences": ("sequences", "seqs"),
    "tokens": ("tokens", "tok"),
    "seq_len": ("seq_len", "seqlen", "seq"),
}
# Single letters say enough only where they and a number are all of the name.
_LETTERS = {"batch_size": "b", "num_workers": "w"}
# All of these are counts: in bs64.1 the second number is that of a repetition.
_NUMBER = r"\d{1,15}"
# A word that numbers traces as often as it tells sizes: only a name that sets it apart (batch_64, batch=64) tells one.
_ORDINAL = {"batch"}
_ENDINGS = re.compile(
    r"(?:\.(?:pt|trace|json|sqlite|duckdb|nsys-rep|qdrep|db|rpd|pb|xplane|parquet|gz|zst|xz|bz2|zip))+\Z"
)


def values_of_names(paths: Sequence[str], knob: str | None = None) -> tuple[str, list[float]] | None:
    """The knob that all names have a number of, and those numbers; of several that differ, and of none, None.

    It is `knob` where that is given, by the name itself or a usual short form of it.
    """
    stems = [_ENDINGS.sub("", PurePath(path).name) for path in paths]
    found: dict[str, list[float]] = {}
    for name in [knob] if knob is not None else _LABELS:
        values = [_value(stem, name) for stem in stems]
        known = [value for value in values if value is not None]
        if len(known) == len(values) and len(set(known)) > 1:
            found[name] = known
    return next(iter(found.items())) if len(found) == 1 else None


def differing_numbers(paths: Sequence[str]) -> list[str] | None:
    """The number in which names differ that are the same else; None where there is no such one."""
    parts = [re.split(r"(\d+)", _ENDINGS.sub("", PurePath(path).name)) for path in paths]
    if len({len(each) for each in parts}) != 1:
        return None
    differing = [each for each in zip(*parts, strict=True) if len(set(each)) > 1]
    return list(differing[0]) if len(differing) == 1 and all(each.isdigit() for each in differing[0]) else None


def _value(stem: str, knob: str) -> float | None:
    labels = [
        re.escape(label) + ("[_=-]" if label in _ORDINAL else "[_=-]?")
        for label in dict.fromkeys((knob, *_LABELS.get(knob, ())))
    ]
    pattern = rf"(?<![^\W\d_])(?:{'|'.join(labels)})({_NUMBER})(?![^\W_])"
    values = {float(value) for value in re.findall(pattern, stem, re.IGNORECASE)}
    if not values and (letter := _LETTERS.get(knob)):
        alone = re.fullmatch(rf"{letter}[_=-]?({_NUMBER})", stem, re.IGNORECASE)
        values = {float(alone[1])} if alone else set()
    return values.pop() if len(values) == 1 else None
