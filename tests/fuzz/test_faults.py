"""A few faults of each kind; `python tests/fuzz/faults.py --tries 500` has the others."""

from __future__ import annotations

import random
import sys

import faults
import pytest

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults")
    faults.prepare(folder)
    return folder


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("SIGTERM: ingest", 0.0),
        ("SIGINT: ingest, added", 1.5),
        ("SIGTERM: report TRACE", 2.0),
        ("SIGINT: sql", 1.0),
        ("SIGINT: ingest, jobs", 2.0),
        ("source changes: ingest", 1.5),
        ("file size: report, page", 0.0),
        ("no threads: ingest, dataset", 0.0),
    ],
)
def test_a_fault_ends_well(made, name, seconds):
    if name not in faults.list_faults():
        pytest.skip("needs root")
    _, fault = faults.list_faults()[name]
    with faults.new_place() as place:
        faults.fill(place, made)
        how, told = fault(place, random.Random(name), seconds)
    assert how in faults.RIGHT, told
