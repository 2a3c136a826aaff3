"""A category of the ledger is known everywhere once it is in categories.py."""

from __future__ import annotations

import json
import re
from pathlib import Path

from traceq.analysis.categories import BUSY, BY_NAME, CATEGORIES, IDLE, in_words
from traceq.database import sql
from traceq.database.comments import comment_statements

COMMENTS = "\n".join(comment_statements(sql.statement("analysis/ledger/tables.sql")))
SCHEMA = Path(__file__).parents[2] / "docs" / "report.schema.json"


def list_words(column):
    """Return the words in the comment on a column."""
    (comment,) = re.findall(rf"comment on column {column} is '([^']*)'", COMMENTS)
    return comment


def test_the_tables_say_which_categories_there_are():
    assert set(re.findall("idle_[a-z_]+", list_words("idle_gap_cause.cause"))) == set(IDLE)
    named = set(re.findall("[a-z0-9_]+", list_words("device_activity.category").partition("that runs of")[2]))
    assert named - {"or", "else", "idle", "graph"} == set(BUSY)


def test_the_schema_of_the_report_says_which_categories_there_are():
    definitions = json.loads(SCHEMA.read_text("utf-8"))["$defs"]
    assert definitions["ledger_category"]["anyOf"][0]["enum"] == list(BUSY)
    assert set(definitions["idle_cause"]["enum"]) == set(IDLE)


def test_every_category_has_words_and_colours_of_its_own_and_work_a_symbol():
    assert len({in_words(each) for each in CATEGORIES}) == len(CATEGORIES)
    assert len({each.colours for each in BY_NAME.values()}) == len(CATEGORIES)
    assert len({BY_NAME[each].symbol for each in BUSY} - {""}) == len(BUSY)
    assert len({BY_NAME[each].terminal for each in BUSY} - {0}) == len(BUSY)
