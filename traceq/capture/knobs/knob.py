"""The shape of a knob, its values, and its report from inside the program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

_ON = ("1", "on", "true", "yes")
_OFF = ("0", "off", "false", "no")


def _no_variables(_value: str) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True)
class Knob:
    """A setting that can be changed by its name.

    `values` describes accepted values, `check` raises ValueError for others, and `environment` returns the variables
    that the program needs from its start for a value.
    """

    name: str
    what: str
    values: str
    check: Callable[[str], object]
    environment: Callable[[str], Mapping[str, str]] = _no_variables


@dataclass
class KnobHooks:
    """The report of a process's knobs: names that acted, reasons of those that did not, and calls due at the first step."""

    acted: set[str] = field(default_factory=set)
    reasons: dict[str, str] = field(default_factory=dict)
    at_first_step: list[Callable[[], None]] = field(default_factory=list)

    def idle(self, names: Iterable[str]) -> dict[str, str]:
        """Return the reason for each of the knobs and ablations `names` that changed nothing in the program."""
        return {
            name: self.reasons.get(name, "the program made nothing that it acts on")
            for name in names
            if name not in self.acted
        }


def is_on(text: str) -> bool:
    """Return whether the text of a switch means on. Raises ValueError for text that means neither on nor off."""
    if text.lower() in _ON:
        return True
    if text.lower() in _OFF:
        return False
    raise ValueError(f"{text!r} is neither 1 (on) nor 0 (off)")


def parse_whole(text: str) -> int:
    """Return the whole number, 0 or more, in the text. Raises ValueError for others."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{text!r} is no whole number")
    return int(text)


def parse_positive(text: str) -> int:
    """Return the whole number, 1 or more, in the text. Raises ValueError for others."""
    if not parse_whole(text):
        raise ValueError("it must be at least 1")
    return int(text)


def require_one_of(*choices: str) -> Callable[[str], str]:
    """Return a function that returns its text if it is one of `choices`, else raises ValueError."""

    def check(text: str) -> str:
        if text not in choices:
            raise ValueError(f"{text!r} is none of {', '.join(choices)}")
        return text

    return check


SWITCH = "0 or 1"
