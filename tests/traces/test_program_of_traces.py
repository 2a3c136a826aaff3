"""Table program against the labels of tests/truth, which were made from the raw files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from trace_files import SHARED, strip_container

# Programs and units of judged3 are compared in test_captures_of_traces.py only (tests/truth/README.md).
LABELS = [
    label
    for path in sorted((Path(__file__).parents[1] / "truth" / "traces").glob("*.json"))
    if not (label := json.loads(path.read_text()))["trace"].startswith("judged3/")
]

# The labels' words for it.
NAMES = {"HF": "Hugging Face", "cuda graph": "cuda_graph", "none": None}
# What the names in the trace show and the labels do not list.
MORE_FRAMEWORKS = {
    "TorchRec",  # "## KJTAllToAllTensorsAwaitable wait() ##", "## sparse_data_dist ##" are what it writes
}
# What a label takes from the command line that nsys recorded, which is not ingested.
OF_COMMAND_LINE = {"Thunder"}
# The label says that nothing runs in a graph; a graph is captured there (hipStreamBeginCapture).
CAPTURES = {"tracelens_sglang_decode_capture"}


def _find_path(label):
    return SHARED / label["trace"]


def _list_labels():
    """Labels with the path of their trace; one rank of a job is enough for every day."""
    for label in LABELS:
        path = _find_path(label)
        marks = [pytest.mark.slow] if re.search(r"(rank|worker)[1-7]", path.name) else []
        if not path.exists():
            marks = [pytest.mark.skip(reason="the folder shared is not beside the checkout")]
        yield pytest.param(label["program"], path, id=strip_container(path), marks=marks)


def _is_accepted(label, key, found):
    """Whether a label has this value, or accepts it as well."""
    values = [label[key], *label.get(f"{key}_may_also_be", [])]
    return found in [NAMES.get(value, value) for value in values]


@pytest.mark.sample(10)
@pytest.mark.parametrize(("label", "path"), list(_list_labels()))
def test_program_is_the_labelled_one(label, path, databases):
    rows = (
        databases(path).execute("select property, value from program order by property, count desc, value").fetchall()
    )
    found = {key: [value for each, value in rows if each == key] for key, _ in rows}
    for key, of_label in (("language", "language"), ("vendor", "gpu"), ("workload", "workload")):
        values = found.get(key, [])
        assert len(values) <= 1
        assert _is_accepted(label, of_label, next(iter(values), None)), (key, values)

    frameworks = set(found.get("framework", []))
    expected = {NAMES.get(name, name) for name in label["frameworks"]} - {"torch.compile"} - OF_COMMAND_LINE
    more = {*label.get("frameworks_may_also_be", []), *label.get("frameworks_also", []), *MORE_FRAMEWORKS}
    assert expected <= frameworks <= expected | more

    modes = found.get("mode", [])
    assert _is_accepted(label, "mode", next(iter(modes), None)) or strip_container(path) in CAPTURES, modes
    assert "compiled" in modes or "torch.compile" not in label["frameworks"]
