"""Marks from Python through a real Nsight Systems and traceq's own importer, where nsys is on PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import traceq

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import asyncio, time
from traceq import annotate
def batches():
    with annotate.phase("prepare"):
        yield 1
        yield 2
for number in annotate.loader(batches(), "train"):
    with annotate.step(number, samples=32, loss_scale=0.5):
        with annotate.phase("forward"):
            time.sleep(0.001)
async def task(label, seconds):
    with annotate.phase(label):
        await asyncio.sleep(seconds)
async def tasks():
    await asyncio.gather(task("short", 0.001), task("long", 0.02))
asyncio.run(tasks())
"""
STEP = ["traceq.payload#samples=32,loss_scale=0.5", "traceq.phase#forward"]


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    pytest.importorskip("nvtx")
    if not shutil.which("nsys"):
        pytest.skip("needs nsys")
    report = tmp_path_factory.mktemp("nsys") / "report"
    options = ["--trace=nvtx", "--sample=none", "--cpuctxsw=none", "--export=sqlite", f"--output={report}"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TRACEQ_ANNOTATE": "nvtx"}
    command = ["nsys", "profile", *options, sys.executable, "-c", PROGRAM]
    subprocess.run(command, check=True, env=environment, timeout=200, capture_output=True)
    database = report.with_suffix(".duckdb")
    traceq.ingest([report.with_suffix(".sqlite")], database)
    with traceq.open(database) as traces:
        yield traces


def test_what_was_marked_is_what_is_read(trace):
    names = trace.sql("select name from annotation where category = 'traceq' order by ts").fetchall()
    assert [name for (name,) in names] == [
        "traceq.fetch#train",
        "traceq.phase#prepare",
        "traceq.step#1",
        *STEP,
        "traceq.fetch#train",
        "traceq.step#2",
        *STEP,
        "traceq.fetch#train",
        "traceq.phase#short",
        "traceq.phase#long",
    ]


def test_marks_nest_as_in_the_program(trace):
    inner = trace.sql("""
        select inner_.name, outer_.name
        from annotation inner_ join annotation outer_ on outer_.slice_id = inner_.parent_id
        where inner_.category = 'traceq' order by inner_.ts
    """).fetchall()
    assert inner == [(name, f"traceq.step#{number}") for number in (1, 2) for name in STEP]


def test_ranges_that_cross_keep_their_own_times(trace):
    query = "select name, dur from annotation where name in ('traceq.phase#short', 'traceq.phase#long')"
    lengths = dict(trace.sql(query).fetchall())
    # They slept for 1 ms and 20 ms, side by side.
    assert lengths["traceq.phase#short"] < 10e6 < lengths["traceq.phase#long"]
