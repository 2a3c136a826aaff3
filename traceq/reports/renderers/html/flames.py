"""A flame graph for blocks.html: its data for flame.js, and a table for who has no script."""

from __future__ import annotations

from traceq.common.text import printable, shortened
from traceq.common.units import change, count, duration, per_cent, share
from traceq.reports.charts.palette import CHANGES, COLOURS, css_variable
from traceq.reports.document import Name, Table, make_table
from traceq.reports.flame import FlameDifference, FlameGraph, TimeChange, find_hottest
from traceq.reports.renderers.html.packed import pack
from traceq.reports.renderers.html.tracks import kind_in_words, name_in_words

_NAME_LIMIT = 120
_ROWS = 10
# Kinds of frames that no slice has look like some that slices have.
_LOOKS = {"module": "annotation"}
_CHANGES_IN_WORDS = (
    "longer by a quarter or more, or new",
    "longer",
    "unchanged",
    "shorter",
    "shorter by a fifth or more, or gone",
)


def flame_data(flame: FlameGraph | FlameDifference) -> str:
    """Return the flame graph as packed text for flame.js (see pack())."""
    names = list(dict.fromkeys((name_in_words(frame), frame.kind) for frame in flame.frames))
    number = {name: place for place, name in enumerate(names)}
    kinds = list(dict.fromkeys(kind for _, kind in names))
    head = {
        "names": [printable(shortened(name, _NAME_LIMIT)) for name, _ in names],
        "kindOf": [kinds.index(kind) for _, kind in names],
        "kinds": [[css_variable(_LOOKS.get(kind, kind)), kind_in_words(kind), kind] for kind in kinds],
        "least": share(flame.least_share),
    }
    columns = {
        "parent": [frame.parent for frame in flame.frames],
        "called": [number[name_in_words(frame), frame.kind] for frame in flame.frames],
    }
    if isinstance(flame, FlameGraph):
        columns |= {
            "count": [frame.count for frame in flame.frames],
            "host": [frame.host_ns for frame in flame.frames],
            "gpu": [frame.gpu_ns for frame in flame.frames],
        }
    else:
        head["changes"] = [css_variable(kind) for kind in CHANGES]
        columns |= _difference_columns(flame)
    return pack(head, columns, frozenset(("parent",)))


def _difference_columns(flame: FlameDifference) -> dict[str, list[int]]:
    """Return the columns of both sides: times in ns, hundredths of calls; -1 where noise is not known."""
    columns = {
        "countBase": [round(100 * frame.base_calls) for frame in flame.frames],
        "countNew": [round(100 * frame.new_calls) for frame in flame.frames],
    }
    for measure in ("host", "gpu"):
        found: list[TimeChange] = [getattr(frame, measure) for frame in flame.frames]
        columns |= {
            f"{measure}Base": [time.base_ns for time in found],
            f"{measure}New": [time.new_ns for time in found],
            f"{measure}Noise": [-1 if time.noise_ns is None else time.noise_ns for time in found],
        }
    return columns


def flame_legend(flame: FlameGraph) -> list[tuple[str, str]]:
    """Return (kind that names the colour, names of the kinds of frames in it) for every colour of the flame graph."""
    words: dict[str, list[str]] = {}
    for kind in dict.fromkeys(frame.kind for frame in flame.frames):
        words.setdefault(look if (look := _LOOKS.get(kind, kind)) in COLOURS else "other", []).append(
            kind_in_words(kind)
        )
    return [(kind, ", ".join(names)) for kind, names in words.items()]


def hottest_frames(flame: FlameGraph) -> Table:
    """Return a table of the frames' names with the most own host time in the flame graph, the most first."""
    total = flame.frames[0].host_ns
    columns = {
        "frame": lambda frame: Name(frame.name),
        "kind": lambda frame: kind_in_words(frame.kind),
        "calls": lambda frame: count(frame.count),
        "own host time": lambda frame: duration(frame.self_ns),
        "share": lambda frame: share(frame.self_ns / total),
        "with all inside": lambda frame: duration(frame.host_ns),
        "GPU time launched": lambda frame: duration(frame.gpu_ns) if frame.gpu_ns else "-",
    }
    return make_table(find_hottest(flame, _ROWS), columns, text=(0, 1))


def difference_legend() -> list[tuple[str, str]]:
    """Return (kind that names the colour, words) for every colour of the flame graph of a difference."""
    return list(zip(CHANGES, _CHANGES_IN_WORDS, strict=True))


def describe_colours(flame: FlameDifference) -> str:
    """Return sentences on what counts as noise in the flame graph of a difference, and on frames of one run only."""
    told = "Frames with a dotted upper edge are in only one of the runs."
    if flame.frames[0].host.noise_ns is None:
        return f"{told} With a single step per side the noise is not known, so every difference has a colour."
    return (
        f"{told} Unchanged frames differ by no more than noise, at {per_cent(1 - flame.level)} confidence: their own scatter"
        f" from step to step, and run-to-run noise. About {per_cent(flame.level)} of the frames exceed it by chance."
    )


def tabulate_changes(flame: FlameDifference) -> Table:
    """Return a table of the frames' names whose own host time per step changed most beyond noise."""
    columns = {
        "frame": lambda each: Name(each.name),
        "kind": lambda each: kind_in_words(each.kind),
        "base": lambda each: duration(each.own.base_ns) if each.own.base_ns else "-",
        "new": lambda each: duration(each.own.new_ns) if each.own.new_ns else "-",
        "change": lambda each: change(each.own.delta_ns),
        f"\u00b1 ({per_cent(1 - flame.level)})": lambda each: (
            "-" if each.own.noise_ns is None else duration(each.own.noise_ns)
        ),
    }
    return make_table(flame.changed, columns, text=(0, 1))
