"""HTA's critical paths: the labels are what HTA's tests assert of them, and what its overlay marks."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise

import pytest
from critical_path_labels import ASKED, LABELS, TORCH, event_of, list_marked, list_spans, raw_events
from raw_files import SHARED

needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="the public traces are not here")

# From tests/test_critical_path_analysis.py of HTA: nodes on the path, and events where it says them. Of simple_add what the
# published overlay marks; the path has a node more than edges.
PUBLISHED = {"simple_add": (1160, 600), "simple_add_forward": (315, 159), "alexnet_forward": (149, None)}

# What HTA's weights add up to (ns), and from the first node to the last one. The rest is at edges that have no weight.
WEIGHTS = {
    "simple_add": (41_435_234_000, 41_577_653_000),
    "simple_add_forward": (241_724_000, 242_625_000),
    "alexnet_forward": (35_834_000, 36_025_000),
}


def read_path(name):
    label = json.loads((LABELS / f"{name}.json").read_text())
    label["events"] = [tuple(each) for each in label["events"]]
    return label


@pytest.mark.parametrize("name", ASKED)
def test_the_path_is_as_long_as_published(name):
    label = read_path(name)
    nodes, events = PUBLISHED[name]
    assert len(label["path"]) + 1 == nodes
    assert events in {None, len(label["events"])}


@pytest.mark.parametrize("name", ASKED)
def test_the_path_runs_through_without_a_hole(name):
    label = read_path(name)
    assert all(one[4:] == two[2:4] for one, two in pairwise(label["path"]))
    assert all(ts <= end for ts, end, *_ in list_spans(label))
    weights = sum(weight for _, weight, *_ in label["path"])
    assert (weights, list_spans(label)[-1][1] - list_spans(label)[0][0]) == WEIGHTS[name]


@pytest.mark.parametrize("name", ASKED)
def test_a_weight_is_the_time_of_its_edge_or_nothing(name):
    label = read_path(name)
    for (kind, weight, *_), (ts, end, *_) in zip(label["path"], list_spans(label), strict=True):
        assert weight in {0, end - ts}
        assert weight == 0 or kind not in {"dependency", "sync_dependency"}


@needs_shared
@pytest.mark.parametrize("name", ASKED)
def test_every_event_stands_in_the_raw_file(name):
    label = read_path(name)
    raw = Counter(event_of(each) for each in raw_events(TORCH / ASKED[name][0]) if each["ph"] == "X")
    assert not Counter(label["events"]) - raw


@needs_shared
def test_the_overlay_marks_the_same_events_and_edges():
    """It draws no edges within operators and kernels, and none from kernel to kernel."""
    label = read_path("simple_add")
    events, edges = list_marked(TORCH / ASKED["simple_add"][0])
    assert events == sorted(label["events"])
    drawn = {"dependency", "kernel_launch_delay", "sync_dependency"}
    assert edges == sorted((kind, weight) for kind, weight, *_ in label["path"] if kind in drawn)
    assert Counter(kind for kind, _ in edges) == {"dependency": 152, "kernel_launch_delay": 18, "sync_dependency": 18}
