"""The words about what sides were made with: knobs that were turned, and what else differs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.common.units import in_unit, some
from traceq.reports.document import Block, Name, Paragraph, Spans, Warn
from traceq.runs.made_with import Difference, is_turned

_MOST_VALUES = 3
_MOST_TOLD = 8

# What is a checksum says only that it differs.
_ONLY_DIFFERS = frozenset(("command_line",))


def knobs(differences: Sequence[Difference]) -> Iterator[Block]:
    """A line on the knobs that were turned, a warning where they are several; a line on what else differs."""
    turned = [each for each in differences if is_turned(each)]
    # A knob is mostly turned by an option.
    others = [each for each in differences if not is_turned(each) and not (turned and each.name in _ONLY_DIFFERS)]
    if len(turned) == 1:
        yield Paragraph(("One knob changed: ", *told(turned[0]), "."))
    elif turned:
        yield Warn(
            (f"{some(len(turned), 'knob')} changed: ", *_listed(turned), ": the change cannot be told to one of them.")
        )
    if others:
        yield Paragraph(("Also differs: ", *_listed(others), "."))


def _listed(differences: Sequence[Difference]) -> Spans:
    spans = tuple(span for each in differences[:_MOST_TOLD] for span in (", ", *told(each)))[1:]
    more = len(differences) - _MOST_TOLD
    return (*spans, f" and {some(more, 'other')}") if more > 0 else spans


def told(difference: Difference) -> Spans:
    """What it is, its values on the sides, and what it follows from."""
    if difference.name in _ONLY_DIFFERS:
        return (difference.words,)
    arrow = [span for values in difference.values for span in (" -> ", *in_words(values, difference.unit))][1:]
    follows = f" (with {difference.follows})" if difference.follows else ""
    return (f"{difference.words} ", *arrow, follows)


def in_words(values: Sequence[str], unit: str | None) -> Spans:
    """The values of a side, with their unit; of many the first."""
    shown = [span for value in values[:_MOST_VALUES] for span in (" or ", Name(in_unit(value, unit)))][1:]
    return (*shown, " and more") if len(values) > _MOST_VALUES else tuple(shown)
