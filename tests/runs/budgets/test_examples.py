"""What docs/examples offers for CI."""

from __future__ import annotations

from pathlib import Path

from traceq.analysis.categories import CATEGORIES
from traceq.runs.budgets.budget import JOB, STEP, SUMS
from traceq.runs.budgets.read import read

DOCS = Path(__file__).parents[3] / "docs"


def test_the_example_is_a_file_of_budgets():
    found = read(DOCS / "examples" / "traceq.toml")
    assert {each.table for each in found.budgets} == {"step", "throughput", "ledger", "findings", "job", "sql"}
    assert found.compare.is_asked


def test_the_page_names_all_keys():
    page = (DOCS / "check.md").read_text("utf-8")
    assert not [key for key in (*STEP, *SUMS, *JOB) if f"`{key}`" not in page]
    metrics = (DOCS / "metrics.md").read_text("utf-8")
    assert not [category for category in CATEGORIES if category not in metrics]
