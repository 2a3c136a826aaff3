"""HTA's critical paths of the two traces it publishes them for, as labels: no import of traceq.

An overlay, which HTA publishes, marks critical events and three of the five types of edges: `marked` reads that, without HTA.
The whole path, with the order of its nodes and all edges, is what HTA itself says; `python tests/truth/critical_path_labels.py`
writes it to tests/truth/critical_path where HolisticTraceAnalysis 0.5 is installed, with pandas below 2.3.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path
from typing import Any

from raw_files import SHARED

LABELS = Path(__file__).with_name("critical_path")
TORCH = SHARED / "judged" / "torch"

FORWARD = "[param|pytorch.model.alex_net|0|0|0|measure|forward]"
# Trace, annotation and its instance (all of the trace without): what HTA's own tests ask for.
ASKED = {
    "simple_add": ("hta_simple_add_critical_path_overlay.json.gz", "", None),
    "simple_add_forward": ("hta_simple_add_critical_path_overlay.json.gz", FORWARD, 1),
    "alexnet_forward": ("hta_alexnet_critical_path.json.gz", FORWARD, 1),
}

_ON_GPU = {"kernel", "gpu_memcpy", "gpu_memset"}

Event = tuple[str, str, int, int]
"""Category, name, ts and dur in ns on the raw clock."""


def raw_events(trace: Path) -> list[dict[str, Any]]:
    """The events of a raw file in its order, without what an overlay adds."""
    with gzip.open(trace) as file:
        return [event for event in json.load(file)["traceEvents"] if event.get("cat") != "critical_path"]


def event_of(raw: dict[str, Any]) -> Event:
    return raw["cat"], raw["name"], raw["ts"] * 1_000, raw["dur"] * 1_000


def list_marked(trace: Path) -> tuple[list[Event], list[tuple[str, int]]]:
    """The events that an overlay marks as critical; type and weight (ns) of the edges it draws. Both sorted."""
    with gzip.open(trace) as file:
        events = json.load(file)["traceEvents"]
    critical = [event_of(each) for each in events if each["ph"] == "X" and each.get("args", {}).get("critical") == 1]
    drawn = [each["args"] for each in events if each["ph"] == "s" and each.get("cat") == "critical_path"]
    edges = [
        (each["type"].removeprefix("critical_path_"), each["weight"] * 1_000) for each in drawn if each["critical"]
    ]
    return sorted(critical), sorted(edges)


def list_spans(told: dict[str, Any]) -> list[tuple[int, int, str, str]]:
    """The path of a label as stretches of time (ns) that follow each other: ts, ts_end, where it is, at or after which event."""
    found = []
    for kind, _, begin, begin_side, end, end_side in told["path"]:
        category, name, *_ = told["events"][begin]
        on = "gpu" if category in _ON_GPU else "host"
        times = [_time(told["events"][event], side) for event, side in ((begin, begin_side), (end, end_side))]
        found.append((times[0], times[1], on if kind in {"operator", "dependency"} else kind, name))
    return found


def _time(event: Event, side: str) -> int:
    _, _, ts, dur = event
    return ts if side == "start" else ts + dur


def label(name: str) -> dict[str, Any]:
    """What HTA says of a trace: events on the path, and the path as edges between their starts and ends, in order."""
    from hta.trace_analysis import TraceAnalysis

    trace, annotation, instance = ASKED[name]
    raw = raw_events(TORCH / trace)
    with tempfile.TemporaryDirectory() as folder:
        with gzip.open(Path(folder) / "trace.json.gz", "wt") as file:
            json.dump({"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": raw}, file)
        graph, _ = TraceAnalysis(trace_dir=folder).critical_path_analysis(0, annotation, instance)
    path = [graph.node_list[node] for node in graph.critical_path_nodes]
    numbers = {event: number for number, event in enumerate(dict.fromkeys(int(node.ev_idx) for node in path))}
    nodes = [(numbers[int(node.ev_idx)], "start" if node.is_start else "end") for node in path]
    pairs = zip(graph.critical_path_nodes, graph.critical_path_nodes[1:], strict=False)
    edges = [graph.edges[pair]["object"] for pair in pairs]
    return {
        "trace": str((TORCH / trace).relative_to(SHARED)),
        "annotation": annotation,
        "instance": instance,
        "events": [event_of(raw[event]) for event in numbers],
        "path": [
            (edge.type.value.removeprefix("critical_path_"), int(edge.weight) * 1_000, *begin, *end)
            for edge, begin, end in zip(edges, nodes[:-1], nodes[1:], strict=True)
        ],
    }


def write(name: str) -> None:
    """Write a label, an event or an edge on a line."""
    told = label(name)
    rows = {key: ",\n  ".join(json.dumps(row) for row in told.pop(key)) for key in ("events", "path")}
    head = [f'"{key}": {json.dumps(value)}' for key, value in told.items()]
    text = ",\n".join([*head, *(f'"{key}": [\n  {each}\n]' for key, each in rows.items())])
    (LABELS / f"{name}.json").write_text(f"{{\n{text}\n}}\n")


if __name__ == "__main__":
    for each in ASKED:
        write(each)
