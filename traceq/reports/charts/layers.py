"""Memory over time as layers, one on another, and who holds it at the peak: what the charts of memory share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from traceq.common.units import share
from traceq.reports.drawing import Anchor, Area, Axis, AxisUnit, Shape, Stroke, Text
from traceq.reports.topics.memory import MemoryLayer

# Of the counted steps or of a history.
PARTS = 120
UNKNOWN_CATEGORY = "unknown"

# From the bottom of a stack to its top: what stays lies below what comes and goes.
_ORDER = (
    *(UNKNOWN_CATEGORY, "parameters", "optimizer", "gradients", "inputs", "activations", "temporary"),
    *("allocated", "before the capture", "during the capture", "managed", "cached"),
)
_WORDS = {
    UNKNOWN_CATEGORY: "cannot tell",
    "before the capture": "allocated before the capture",
    "during the capture": "allocated during the capture",
    "cached": "cached by PyTorch",
}
_LINE = 14.0


class Layer(NamedTuple):
    """A layer of a stack: its kind, and its bytes in each part from `first_part` on."""

    kind: str
    first_part: int
    bytes: Sequence[int]


class Moment(NamedTuple):
    """A line over the whole height of a chart at the value `x` of its axis, with its text above."""

    x: float
    text: str
    kind: str | None = None


def list_layers(rows: Iterable[MemoryLayer], device: int) -> list[Layer]:
    """Return the layers of the device, from the lowest in the stack to the highest."""
    layers = [
        Layer(row.category or UNKNOWN_CATEGORY, row.first_part, row.bytes) for row in rows if row.device == device
    ]
    return sorted(layers, key=lambda layer: _ORDER.index(layer.kind) if layer.kind in _ORDER else len(_ORDER))


def sum_layers(layers: Sequence[Layer]) -> list[int]:
    """Return the bytes of all layers together in each part from their first one on."""
    return [sum(column) for column in zip(*(layer.bytes for layer in layers), strict=True)]


def thin_layers(layers: Sequence[Layer]) -> list[Layer]:
    """Return the layers with the values of the higher of two neighbouring parts in both: a small chart of fewer bytes."""
    totals = sum_layers(layers)
    pairs = [range(place, min(place + 2, len(totals))) for place in range(0, len(totals), 2)]
    kept = [max(pair, key=totals.__getitem__) for pair in pairs for _ in pair]
    return [layer._replace(bytes=[layer.bytes[place] for place in kept]) for layer in layers]


def draw_areas(layers: Sequence[Layer], length: float, unit: AxisUnit) -> list[Shape]:
    """Return the areas of the layers, the highest of the stack first; `length` is that of all parts on the x axis.

    Parts of equal height become one: a stack costs a page few bytes where little happens.
    """
    areas: list[Shape] = []
    tops = [0] * len(layers[0].bytes)
    for layer in layers:
        tops = [top + more for top, more in zip(tops, layer.bytes, strict=True)]
        starts = [place for place, top in enumerate(tops) if not place or top != tops[place - 1]]
        places = [layer.first_part + place for place in (*starts, len(tops))]
        edges = [place * length / PARTS for place in places]
        areas.append(Area(layer.kind, edges, [tops[place] / unit.size for place in starts]))
    return areas[::-1]


def draw_moments(moments: Sequence[Moment], x: Axis, y: Axis) -> list[Shape]:
    """Return a dashed line for each moment, and its text in a line of its own above the panel."""
    shapes: list[Shape] = []
    for place, moment in enumerate(moments):
        anchor: Anchor = "end" if moment.x > x.middle else "start"
        shapes += [
            Stroke([[(moment.x, y.low), (moment.x, y.high)]], moment.kind, dashes="5 3"),
            Text(moment.text, moment.x, y.high, 0, 4 + place * _LINE, anchor, is_above=True),
        ]
    return shapes


def room_above(moments: Sequence[Moment]) -> float:
    """Return the room that the title and the texts of the moments need above a panel, points."""
    return 24.0 + len(moments) * _LINE


def name_layer(kind: str) -> str:
    """Return the words for a layer or a category of memory."""
    return _WORDS.get(kind, kind)


def list_legend(layers: Sequence[Layer]) -> list[tuple[str, str]]:
    """Return (kind, words) of each layer, the highest of the stack first, with its share of the highest part if it has one."""
    totals = sum_layers(layers)
    most = max(totals)
    part = totals.index(most)
    return [(layer.kind, _name_with_share(layer, part, most)) for layer in reversed(layers)]


def _name_with_share(layer: Layer, part: int, most: int) -> str:
    return (
        f"{name_layer(layer.kind)} {share(layer.bytes[part] / most)}" if layer.bytes[part] else name_layer(layer.kind)
    )
