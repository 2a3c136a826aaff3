"""Exports in the viewers that they are for. Skipped without them:

speedscope and pprof-format need Chromium, Node and the folder node_modules that TRACEQ_NODE_MODULES names, made by
`npm install playwright-core speedscope pprof-format`; pprof is a program on PATH, or Go's (`go tool pprof`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from importlib.resources import as_file, files
from pathlib import Path

import pytest

from traceq.database.connect import connect
from traceq.exports.folded import write_folded
from traceq.exports.pprof import write_pprof
from traceq.exports.speedscope import write_speedscope
from traceq.exports.stacks import MEASURE_WORDS, MEASURES, find_frame, walk_stacks
from traceq.loading.ingest import ingest
from traceq.reports.build_stacks import build_stacks

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
MODULES = os.environ.get("TRACEQ_NODE_MODULES")
PPROF = ["pprof"] if shutil.which("pprof") else ["go", "tool", "pprof"] if shutil.which("go") else None


def needs_package(*names, browser=False):
    is_there = (
        MODULES
        and shutil.which("node")
        and (CHROMIUM or not browser)
        and all((Path(MODULES) / name).is_dir() for name in names)
    )
    return pytest.mark.skipif(not is_there, reason=f"needs Node and TRACEQ_NODE_MODULES with {' and '.join(names)}")


@pytest.fixture(scope="module")
def stacks(tmp_path_factory):
    database = tmp_path_factory.mktemp("demo") / "demo.duckdb"
    with as_file(files("traceq").joinpath("app/demo/training.pt.trace.json.gz")) as demo:
        ingest([demo], database)
    with connect(database) as connection:
        found = build_stacks(connection, {1: ""})
    assert all(found.sum_time(measure) for measure in MEASURES)
    return found


def write(path, writer, *arguments):
    with path.open("wb") as file:
        writer(*arguments, file)
    return path


def told_by_node(name, *arguments, folder):
    # Node looks for modules beside the script.
    shutil.copy(Path(__file__).with_name(name), folder / name)
    (folder / "node_modules").symlink_to(MODULES)
    ran = subprocess.run(["node", folder / name, *arguments], capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def in_speedscope(path, folder):
    """Name of each profile -> the time that speedscope counts in it."""
    told = told_by_node("speedscope.mjs", CHROMIUM, MODULES, path, folder / "seen.png", folder=folder)
    assert told["problems"] == []
    return {each["name"]: each["endValue"] - each["startValue"] for each in told["saved"]["profiles"]}


@needs_package("speedscope", "playwright-core", browser=True)
def test_speedscope_opens_its_format(stacks, tmp_path):
    path = write(tmp_path / "t.speedscope.json", write_speedscope, stacks, "t")
    assert in_speedscope(path, tmp_path) == {MEASURE_WORDS[measure]: stacks.sum_time(measure) for measure in MEASURES}


@needs_package("speedscope", "playwright-core", browser=True)
@pytest.mark.parametrize("measure", MEASURES)
def test_speedscope_opens_folded_stacks(stacks, measure, tmp_path):
    path = write(tmp_path / "t.folded", write_folded, stacks, measure)
    assert in_speedscope(path, tmp_path) == {"t.folded": stacks.sum_time(measure)}


@needs_package("speedscope", "playwright-core", browser=True)
def test_speedscope_opens_the_default_measure_of_pprof(stacks, tmp_path):
    path = write(tmp_path / "t.pb.gz", write_pprof, stacks, "t")
    assert in_speedscope(path, tmp_path) == {"t.pb.gz": stacks.sum_time("host")}


@needs_package("pprof-format")
def test_pprof_format_reads_every_sample(stacks, tmp_path):
    path = write(tmp_path / "t.pb.gz", write_pprof, stacks, "t")
    read = told_by_node("pprof_format.mjs", path, folder=tmp_path)
    names = [find_frame(path).short_name for path in stacks.paths]
    assert read == {
        "types": [[measure, "nanoseconds"] for measure in MEASURES],
        "samples": [
            [[names[place] for place in way], [str(getattr(path, measure)) for measure in MEASURES]]
            for path, way in walk_stacks(stacks)
        ],
        "duration": str(stacks.dur),
    }


@pytest.mark.skipif(PPROF is None, reason="needs pprof, or go")
def test_pprof_adds_up_every_measure(stacks, tmp_path):
    path = write(tmp_path / "t.pb.gz", write_pprof, stacks, "t.json")
    ran = subprocess.run([*PPROF, "-raw", path], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stderr == ""
    (types,) = re.findall(r"^host/nanoseconds\[dflt\] gpu/nanoseconds idle/nanoseconds$", ran.stdout, re.MULTILINE)
    assert types
    samples = re.findall(r"^ +(\d+) +(\d+) +(\d+): [\d ]+$", ran.stdout, re.MULTILINE)
    sums = [sum(map(int, column)) for column in zip(*samples, strict=True)]
    assert sums == [stacks.sum_time(measure) for measure in MEASURES]
    top = subprocess.run([*PPROF, "-top", path], capture_output=True, text=True, timeout=60, check=True)
    assert top.stdout.startswith("File: t.json\n")
    assert "Type: host\n" in top.stdout
    assert "<unknown>" not in top.stdout
