"""The advice on start-up, which depends on what takes most of it."""

from __future__ import annotations

import re
from pathlib import Path

import traceq

RULE = Path(traceq.__file__).parent / "diagnosis" / "rules" / "steps" / "start_up.sql"


def test_all_that_the_advice_asks_for_is_something_that_the_query_finds():
    """Advice on creating a context was lost when the words for it changed."""
    header, _, query = RULE.read_text().partition("\nwith\n")
    asked = set(re.findall(r"what == '([^']+)'", re.sub(r"\n--\s+", " ", header)))
    assert {"creating the GPU context and allocating", "importing modules"} <= asked
    assert asked <= set(re.findall(r"'([^'\n]+)'", query))
