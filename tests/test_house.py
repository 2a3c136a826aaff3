"""The counts of tools/house.py: what they count, and that none is above its ceiling."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"

PACKAGE = '''
class Part:
    """A part."""

    def told(self):
        """What it says."""


class _Part:
    """Another part."""


def read(rows):
    """Return the rows."""
    return [each for each in rows]


def total(rows):
    """Add the rows up."""
    for each in rows:
        yield each


def is_named(row):
    """Return whether there is no room of what is not it."""
'''


@pytest.fixture
def house(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    monkeypatch.delitem(sys.modules, "house", raising=False)
    import house

    return house


def test_what_is_counted(house, tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text(PACKAGE)
    (tmp_path / "b.sql").write_text("-- A comment.\nselect\n    1;\n")
    monkeypatch.setattr(house, "ROOT", tmp_path)
    counts = house.counts([tmp_path])
    assert counts == {
        "code_lines": 11,
        "each": 2,
        "functions": 4,
        "modules": 1,
        "one_word": 3,
        "one_word_no_verb": 2,
        "participle": 1,
        "repeated_class": 1,
        "riddle": 1,
        "what_docstring": 1,
    }


def test_no_count_is_above_its_ceiling(house):
    assert house.above_ceilings(house.counts([house.ROOT / "traceq"])) == []


def test_the_ceiling_of_lines_is_the_one_that_a_decision_gives_a_reason_for(house):
    rows = re.findall(r"\| ([\d,]+) \|$", (house.ROOT / "docs/decisions/0034-ceilings.md").read_text(), re.MULTILINE)
    assert json.loads(house.CEILINGS.read_text())["code_lines"] == int(rows[-1].replace(",", ""))


def test_a_count_above_its_ceiling_is_named(house, tmp_path, monkeypatch):
    ceilings = tmp_path / "ceilings.json"
    ceilings.write_text('{"functions": 3}')
    monkeypatch.setattr(house, "CEILINGS", ceilings)
    assert house.above_ceilings({"functions": 4, "modules": 5}) == ["functions: 4 of at most 3"]
