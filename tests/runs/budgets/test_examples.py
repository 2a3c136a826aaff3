"""What docs/examples offers for CI."""

from __future__ import annotations

import re
from pathlib import Path

from traceq.analysis.categories import CATEGORIES
from traceq.runs.budgets.known import STEP, SUMS
from traceq.runs.budgets.read import read

DOCS = Path(__file__).parents[3] / "docs"


def test_the_example_is_a_file_of_budgets():
    found = read(DOCS / "examples" / "traceq.toml")
    assert {each.table for each in found.budgets} == {"step", "throughput", "ledger", "findings", "sql"}
    assert found.compare.is_asked


def test_the_page_names_all_keys():
    page = (DOCS / "check.md").read_text("utf-8")
    assert not [key for key in (*STEP, *SUMS) if f"`{key}`" not in page]
    metrics = (DOCS / "metrics.md").read_text("utf-8")
    assert not [category for category in CATEGORIES if category not in metrics]


def test_the_workflow_pins_official_actions_and_pastes_nothing_into_scripts():
    text = (DOCS / "examples" / "github-actions.yml").read_text("utf-8")
    used = re.findall(r"uses: (\S+)", text)
    assert used
    assert [each for each in used if not re.fullmatch(r"(actions|github)/[\w/-]+@[0-9a-f]{40}", each)] == []
    assert "\npermissions: {}\n" in text
    # Blocks of shell and JavaScript are indented below their key, one-line scripts stand beside it.
    blocks = re.findall(r"^( *)(?:run|script): \|\n((?:\1 +.*\n|\n)+)", text, flags=re.MULTILINE)
    scripts = [block for _, block in blocks] + re.findall(r"run: (?!\|)(.*)", text)
    assert len(scripts) == 6
    assert [each for each in scripts if "${{" in each] == []
