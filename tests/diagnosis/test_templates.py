"""Templates in the headers of rules name only what they are given: a branch that no case reaches would fail at a user's."""

from __future__ import annotations

import re
from unittest.mock import MagicMock

import pytest
from jinja2 import meta, nodes

from traceq.database.sql import shelved
from traceq.diagnosis.query import rule_query
from traceq.diagnosis.rules.declared import _environment, _of_trace, is_template

OF_TRACE = set(_of_trace(MagicMock()))
OF_CLAIM = {
    *("instances", "steps_with_it", "claimed_ns", "claimed_share", "longest_ns", "saving_ns"),
    *("worst", "pieces", "given", "copies", "collectives", "culprits", "facts", "rows"),
}
OF_REMARK = {"facts", "rows"}
# They are asked before the claim is made, or because there is none.
WITHOUT_CLAIM = {"unknown", "absent", "unseen", "clean", "when"}
QUERIES = {name: query for name in shelved("diagnosis/rules") if (query := rule_query(name)).header}


@pytest.mark.parametrize("name", QUERIES)
def test_templates_name_what_they_are_given(name):
    query = QUERIES[name]
    of_trace = OF_TRACE | set(query.settings)
    if "query" in query.header:
        of_trace |= set(rule_query(query.header["query"]).settings)
    each = query.header.get("each", "row")
    columns = set() if each == "row" else set(re.findall(r"\w+", rule_query(each).text))
    for key, text in query.header.items():
        if is_template(text):
            parsed = _environment().parse(text)
            own = {each.name for each in parsed.find_all(nodes.Name) if each.ctx == "store"}
            told = OF_REMARK if "remark" in query.header else set() if key in WITHOUT_CLAIM else OF_CLAIM
            assert meta.find_undeclared_variables(parsed) - own <= of_trace | told | columns, key
