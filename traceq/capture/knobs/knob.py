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
    """A setting of a training program that traceq can change from outside, by its name; `what` describes it for users.

    `values` describes the accepted values, `check` raises ValueError for others, and `environment` returns the
    variables that the program needs from its start for a value.
    """

    name: str
    what: str
    values: str
    check: Callable[[str], object]
    environment: Callable[[str], Mapping[str, str]] = _no_variables


@dataclass
class KnobHooks:
    """The state of a process's knobs: names that acted, why others did not (by name), and functions to call at the first step."""

    acted: set[str] = field(default_factory=set)
    reasons: dict[str, str] = field(default_factory=dict)
    at_first_step: list[Callable[[], None]] = field(default_factory=list)

    def idle(self, names: Iterable[str]) -> dict[str, str]:
        """Return, by name, why each of `names` (knobs and ablations) that changed nothing in the program did not."""
        return {
            name: self.reasons.get(name, "the program creates nothing that this setting affects")
            for name in names
            if name not in self.acted
        }


def is_on(text: str) -> bool:
    """Return whether the text of a switch means on (1, on, true, yes) rather than off (0, off, false, no).

    Raises ValueError for other text.
    """
    if text.lower() in _ON:
        return True
    if text.lower() in _OFF:
        return False
    raise ValueError(f"{text!r} is neither 1 (on) nor 0 (off)")


def parse_whole(text: str) -> int:
    """Return the whole number, 0 or more, that the text is. Raises ValueError for other text."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def parse_positive(text: str) -> int:
    """Return the whole number, 1 or more, that the text is. Raises ValueError for other text."""
    if not parse_whole(text):
        raise ValueError("it must be at least 1")
    return int(text)


def require_one_of(*choices: str) -> Callable[[str], str]:
    """Return a function that returns its text unchanged if it is one of `choices`, and else raises ValueError."""

    def check(text: str) -> str:
        if text not in choices:
            raise ValueError(f"{text!r} is not one of {', '.join(choices)}")
        return text

    return check


SWITCH = "0 or 1"
