"""Units, steps and windows against the labels of tests/truth, which were made from the raw files before the code."""

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

# What of a step its start may differ by, and of the window its ends.
OF_A_STEP = 0.05
OF_THE_WINDOW = 0.01
# The mark lasts 13.33 s beyond the last thing that happened: the tail of the capture, which the label's rule does not know.
IDLE_TAIL = {"hta_triton_example"}
# No launches are in the trace: the first step starts behind its first gather, which connects the ranks for 143 ms.
LATE_FIRST_STEP = {"tracelens_rocprofv3_908": 0.015}

COUNTED = (
    "select count(*) filter (excluded is null or starts_with(excluded, 'warm-up')) from step where source <> 'window'"
)
# Of what was launched in each step; labels leave work out that was launched before the capture.
KERNELS = """
    select min_by(g.ts, (c.ts, g.ts)) as gpu_ts, count(*) as kernels
    from step as s
    inner join gpu_slice as g using (step)
    inner join cpu_slice as c on c.slice_id = g.launch_id
    where
        coalesce(g.device = $device, true)
        and g.kind in ('kernel', 'graph')
        and (s.excluded is null or starts_with(s.excluded, 'warm-up'))
    group by s.step
    order by s.step
"""


def _find_path(label):
    return SHARED / label["trace"]


def _list_labels(chosen=lambda _label: True):
    """Labels with the path of their trace; one rank of a job is enough for every day."""
    for label in LABELS:
        path = _find_path(label)
        marks = [pytest.mark.slow] if re.search(r"(rank|worker)[1-7]", path.name) else []
        if not path.exists():
            marks = [pytest.mark.skip(reason="the folder shared is not beside the checkout")]
        if chosen(label):
            yield pytest.param(label, path, id=strip_container(path), marks=marks)


def _list_accepted(unit):
    """Numbers of steps that the label has, or accepts as well; 0 for no unit."""
    others = [each for each in unit["may_also_be"] if not re.match("wrong|the layer", each["why"])]
    also_none = {0 for each in others if each.get("kind") == "none"}
    return {unit["steps"], *also_none, *(each["steps"] for each in others if "steps" in each)}


@pytest.mark.sample(3)
@pytest.mark.parametrize(("label", "path"), list(_list_labels()))
def test_there_are_as_many_steps_as_labelled(label, path, databases):
    ((steps,),) = databases(path).execute(COUNTED).fetchall()
    assert steps in _list_accepted(label["unit"])


@pytest.mark.parametrize(
    ("label", "path"), list(_list_labels(lambda label: label["unit"]["steps"] and label["unit"]["kernels"]))
)
def test_a_step_has_as_many_kernels_as_labelled(label, path, databases):
    device = label["check"]["steps"].get("device")
    rows = databases(path).execute(KERNELS, {"device": device and int(device)}).fetchall()
    kernels = [each for *_, each in rows]
    if len(kernels) != label["unit"]["steps"]:
        pytest.skip("another number of steps, which the label accepts")
    assert sum(each == label["unit"]["kernels"] for each in kernels) >= 0.9 * len(kernels)


@pytest.mark.parametrize(
    ("label", "path"), list(_list_labels(lambda label: label["unit"]["steps"] > 1 and label["unit"]["gpu_starts"]))
)
def test_steps_start_where_labelled(label, path, databases):
    unit = label["unit"]
    found = [gpu_ts for gpu_ts, _ in databases(path).execute(KERNELS, {"device": None}).fetchall()]
    if len(found) != unit["steps"]:
        pytest.skip("another number of steps, which the label accepts")
    # Clocks of Chrome traces start elsewhere; the first step may have work of the one before, which the capture cut.
    origin = found[1] - unit["gpu_starts"][1]
    for gpu_ts, start in list(zip(found, unit["gpu_starts"], strict=True))[unit["cut_first"] :]:
        assert abs(gpu_ts - start - origin) <= OF_A_STEP * unit["period_ns"]


@pytest.mark.parametrize(("label", "path"), list(_list_labels()))
def test_the_window_is_the_labelled_one(label, path, databases):
    unit, window, run = label["unit"], label["window"], label["run"]
    ((steps,),) = databases(path).execute(COUNTED).fetchall()
    if unit["kind"] == "either" or (unit["kind"] != "none" and steps != unit["steps"]):
        pytest.skip("steps or not, or another number of them: the label accepts several windows")
    query = """
        select min(p.ts) - any_value(t.ts), max(p.ts + p.dur) - any_value(t.ts), any_value(t.ts)
        from phase_of_run as p inner join trace as t using (trace_id)
        where p.phase = 'window' or p.text like '%warm-up%'
    """
    ((start, end, origin),) = databases(path).execute(query).fetchall()
    # times of nsys are those of the file
    since = run["start"] if "torch" in label["trace"] or "odd" in label["trace"] else 0
    ours = [start, end] if since else [start + origin, end + origin]
    theirs = [window["start"] - since, window["end"] - since]
    # an unmarked step starts when the host is done with the one before: up to a step before its first kernel is launched
    ((is_unmarked,),) = databases(path).execute("select bool_or(source = 'recurrence') from step").fetchall()
    share = LATE_FIRST_STEP.get(strip_container(path), OF_THE_WINDOW)
    near = max(share * (theirs[1] - theirs[0]), unit["period_ns"] if is_unmarked else 0)
    assert abs(ours[0] - theirs[0]) <= near
    if strip_container(path) in IDLE_TAIL:
        assert ours[1] < theirs[1] / 10
    else:
        assert abs(ours[1] - theirs[1]) <= near


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "level", "launches", "count"),
    [
        ("cs336_a100_2_7B_eager", "layer", 57, 32 * 10),
        ("nsysai_mfu_2gpu_after", "layer", 157, 15),
        ("nsysai_mfu_2gpu_before", "layer", 157, 16),
    ],
)
def test_layers_are_told_as_layers(name, level, launches, count, databases):
    path = SHARED / "judged" / "nsys" / f"{name}.sqlite"
    path = path if path.exists() else SHARED / "traces" / "nsys" / f"{name}.sqlite"
    if not path.exists():
        pytest.skip("the folder shared is not beside the checkout")
    query = "select level, launches, count from unit where not is_step and source = 'recurrence'"
    assert databases(path).execute(query).fetchall() == [(level, launches, count)]
