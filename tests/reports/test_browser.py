"""The page in a real browser. Needs Chromium and Node, and the folder node_modules that TRACEQ_NODE_MODULES names, made by
`npm install playwright-core axe-core`; skipped without."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from array import array
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "importers"))

from handmade_traces import HOSTILE, MadeUp, complete, database, hostile, on_host_only, waiting
from snapshots import make_history, make_segment, make_snapshot, write_file

from traceq.app.report import report as report_on
from traceq.reports.build import build
from traceq.reports.document import Flame, Heading, Tracks, Verdict
from traceq.reports.flame import FlameDifference, FramePair, NamedChange, TimeChange
from traceq.reports.renderers.to_html import html_of, to_html
from traceq.reports.timeline import Called, DrawnSlices, Lane, Timeline

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
MODULES = os.environ.get("TRACEQ_NODE_MODULES")


def busy():
    """Many slices, with names that would do harm."""
    trace = MadeUp().step(0, 700_000)
    for number in range(700):
        trace.gpu("compute", number * 1000, 900, stream=7, name=f"</script>{HOSTILE}{number}")
    return trace


CASES = {"busy": busy, "waiting": waiting, "complete": complete, "hostile": hostile, "host_only": on_host_only}

pytestmark = pytest.mark.skipif(
    not (CHROMIUM and MODULES and shutil.which("node")), reason="needs Chromium, Node and TRACEQ_NODE_MODULES"
)


def told_by(name, *arguments, folder):
    """What a script beside this file says of Chromium."""
    # Node looks for modules beside the script.
    script = folder / name
    shutil.copy(Path(__file__).with_name(name), script)
    (folder / "node_modules").symlink_to(MODULES)
    ran = subprocess.run(
        ["node", script, CHROMIUM, *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.parametrize("case", CASES)
def test_a_browser_has_nothing_to_complain_about(case, tmp_path):
    page = tmp_path / "report.html"
    page.write_text(to_html(build(database(CASES[case]()), 10, scope="drawing")), "utf-8")
    seen = told_by("browser.mjs", f"{MODULES}/axe-core/axe.min.js", page, tmp_path, folder=tmp_path)
    assert seen["problems"] == []
    facts = seen["facts"]
    assert facts["verdictIsOnTheFirstScreen"]
    assert facts["tablesWithoutScript"] == facts["tables"]
    assert facts["queryOpened"]
    assert facts["cutNavigation"] == 0
    assert facts["smallestLetters"] is None or facts["smallestLetters"] >= 9
    assert facts["unprinted"] == 1
    if case != "host_only":
        assert facts["sorted"] == 1
    assert facts["picturesWithoutScript"] == facts["pictures"] > 0
    assert "duration" in facts["told"]
    assert facts["sums"] >= 1
    assert facts["cleared"]
    assert facts["range"].startswith("Range of ")
    assert facts["tip"]
    assert "duration" in facts["clicked"]
    assert facts["found"].startswith("1 of ")
    if case == "busy":
        assert facts["fits"]
    if case == "complete":
        assert "TFLOP/s" in facts["dot"]
        assert "TFLOP/s" in facts["dotTip"]
    if case not in ("busy", "hostile"):
        assert "of its own" in facts["frame"]
        assert "frames, " in facts["framesFound"]


def test_the_page_of_a_memory_snapshot_shows_its_charts_without_a_script(tmp_path):
    blocks = "8388608 8388608 used init\n25165824 0 free -"
    events = make_history(
        """
        1000 segment_alloc 0 33554432 main
        1001 alloc 0 8388608 init
        1010 alloc 8388608 16777216 forward
        1020 freed 8388608 16777216 backward
        """
    )
    path = write_file(tmp_path, make_snapshot(events, segments=[make_segment(0, blocks)]))
    page = tmp_path / "report.html"
    page.write_text(report_on(path).to_html(), "utf-8")
    seen = told_by("browser.mjs", f"{MODULES}/axe-core/axe.min.js", page, tmp_path, folder=tmp_path)
    assert seen["problems"] == []
    assert seen["facts"]["chartsWithoutScript"] == ["t1-memory-history", "t1-memory-holders"]
    assert seen["facts"]["verdictIsOnTheFirstScreen"]


def test_a_browser_has_nothing_to_complain_about_in_a_flame_graph_of_two_sides(tmp_path):
    gpu = TimeChange(4_000_000, 0, 100)
    frames = (
        FramePair("all", "all", -1, 0, 0, TimeChange(10_000_000, 12_000_000, 100), gpu),
        FramePair(f"longer {HOSTILE}", "op", 0, 1, 1, TimeChange(5_000_000, 8_000_000, 100), gpu),
        FramePair("new", "python", 1, 0, 2, TimeChange(0, 3_000_000, 100), TimeChange(0, 0, 0)),
        FramePair("as long", "runtime", 0, 1, 1, TimeChange(4_000_000, 4_000_090, 100), TimeChange(0, 0, 0)),
        FramePair("gone", "compute", 1, 1.5, 0, TimeChange(0, 0, 0), gpu),
    )
    changed = (NamedChange("new", "python", TimeChange(0, 3_000_000, None)),)
    blocks = [Heading(1, ("Compare",)), Heading(2, ("Both",), anchor="comparison"), Verdict(("Longer",))]
    page = tmp_path / "compare.html"
    blocks += [Heading(3, ("Paths",), anchor="flame"), Flame(FlameDifference(frames, 0.001, changed, 0.02))]
    page.write_text(html_of(blocks), "utf-8")
    seen = told_by("browser.mjs", f"{MODULES}/axe-core/axe.min.js", page, tmp_path, folder=tmp_path)
    assert seen["problems"] == []
    assert "base 0 ns, new 3 ms, +3 ms, only in the new run; beyond its noise" in seen["facts"]["frame"]
    assert seen["facts"]["framesFound"].startswith("3 frames, ")


def test_moving_50_000_slices_takes_little_of_a_frame(tmp_path):
    page = tmp_path / "many.html"
    heading = [Heading(1, ("Many",)), Heading(2, ("Trace",), anchor="t1"), Heading(3, ("Steps",))]
    page.write_text(html_of([*heading, Tracks(many(50_000))]), "utf-8")
    seen = told_by("frames.mjs", page, folder=tmp_path)
    for name, frames in seen.items():
        assert frames["frames"] >= 30, name
        assert frames["median"] <= 8, (name, frames)


def many(slices):
    """That many slices of all kinds and lengths, on 40 rows."""
    chance = random.Random(50)  # noqa: S311 - numbers for a test
    called = tuple(
        Called(f"name {number}", kind) for number, kind in enumerate(["compute", "op", "runtime", "python"] * 50)
    )
    columns = {name: array("q") for name in ("lane", "depth", "ts", "dur", "called")}
    rows = 40
    for row in range(rows):
        ts = 0
        for _ in range(slices // rows):
            ts += round(chance.expovariate(1 / 2_000))
            dur = round(chance.expovariate(1 / 6_000))
            values = (row // 8, row % 8, ts, dur, chance.randrange(len(called)))
            for column, value in zip(columns.values(), values, strict=True):
                column.append(value)
            ts += dur
    lanes = tuple(Lane(f"lane {number}", "host", 8) for number in range(rows // 8))
    all_ = DrawnSlices(**columns, busy=columns["dur"], count=array("q", [1] * slices), launch=array("q", [-1] * slices))
    return Timeline("steps", "Many", 0, max(columns["ts"]) + 10_000, lanes, called, all_)
