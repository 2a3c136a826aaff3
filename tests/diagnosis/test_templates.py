"""Templates in the headers of rules name only what they are given: a branch that no case reaches would fail at a user's."""

from __future__ import annotations

import re
from unittest.mock import MagicMock

import duckdb
import jinja2
import pytest
from failure_list import assert_none
from jinja2 import meta, nodes

from traceq.database.sql import shelved
from traceq.diagnosis.program import Program
from traceq.diagnosis.query import rule_query
from traceq.diagnosis.rules.declared import trace_words
from traceq.diagnosis.rules.templates import is_template, make_environment, render

OF_TRACE = set(trace_words(MagicMock()))
OF_CLAIM = {
    *("instances", "occurrences", "steps_with_it", "claimed_ns", "claimed_share", "longest_ns", "saving_ns"),
    *("worst", "pieces", "given", "copies", "collectives", "culprits", "held_by", "remedied", "facts", "rows"),
}
OF_REMARK = {"facts", "rows"}
# They are asked before the claim is made, or because there is none.
WITHOUT_CLAIM = {"unknown", "absent", "unseen", "clean", "when"}
QUERIES = {name: query for name in shelved("diagnosis/rules") if (query := rule_query(name)).header}


def unknown_names(name):
    """Names in templates of a header that they are not given."""
    query = QUERIES[name]
    of_trace = OF_TRACE | set(query.settings)
    if "query" in query.header:
        of_trace |= set(rule_query(query.header["query"]).settings)
    each = query.header.get("each", "row")
    columns = set() if each == "row" else set(re.findall(r"\w+", rule_query(each).text))
    for key, text in query.header.items():
        if is_template(text):
            parsed = make_environment().parse(text)
            own = {each.name for each in parsed.find_all(nodes.Name) if each.ctx == "store"}
            told = OF_REMARK if "remark" in query.header else set() if key in WITHOUT_CLAIM else OF_CLAIM
            unknown = meta.find_undeclared_variables(parsed) - own - (of_trace | told | columns)
            yield from (f"{name}: {key} names {each}" for each in sorted(unknown))


def test_templates_name_what_they_are_given():
    assert_none(wrong for name in QUERIES for wrong in unknown_names(name))


SUBJECT = trace_words(MagicMock())
REACHING = [
    "subject.connection",
    "subject['connection']",
    "subject.workspace",
    "(subject | attr('connection')).execute('select 1')",
    "ask.__self__",
    "ask.__closure__",
    "ask['__closure__']",
    "per_step.args[0]",
    "late_device.func",
    "(ask | attr('__closure__'))[0]",
    "[ask] | map(attribute='__closure__') | first",
    "remedy.__globals__",
    "program.has.__func__",
    "program.__class__",
    "lacks('x', 'y').__traceback__",
    "'{0.__closure__}'.format(ask)",
    "'{a.__globals__}'.format_map({'a': ask})",
    "''.__class__.__mro__",
    "[].append.__self__",
    "rows.append(1)",
    "facts.update({'dur': 1})",
    "cycler.__init__.__globals__",
    "lipsum.__globals__",
    "self._TemplateReference__context",
    "array.tofile('x')",
]


@pytest.mark.parametrize("expression", REACHING)
def test_nothing_beyond_what_is_told_can_be_reached(expression):
    known = SUBJECT | {"rows": [], "facts": {}, "array": memoryview(b"")}
    with pytest.raises((jinja2.TemplateError, AttributeError)):
        render(f"{{{{ {expression} }}}}", known)


ENDLESS = [
    "{{ '%(a)1000000000s' % {'a': 1} }}",
    "{% for i in range(10000) %}{% for j in range(10000) %}{% endfor %}{% endfor %}",
    "{% set r = range(9999) %}{% for i in r %}{% for j in r %}{{ loop.index }}{% endfor %}{% endfor %}",
    "{% for i in range(100000000) %}{% endfor %}",
    "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(50) }}",
    "{{ 10 ** 10 ** 10 ** 10 }}",
    "{{ 'x' * 10 ** 12 }}",
    "{{ [0] * 10 ** 12 }}",
    "{{ '%999999999999d' % 1 }}",
    "{{ '%999999999999d' | format(1) }}",
    "{{ '{:>999999999999}'.format(1) }}",
    "{{ '{:>{}}'['format'](1, 10 ** 12) }}",
    "{% set a = text ~ text %}{% set a = a ~ a %}{% set a = a ~ a %}{{ a }}",
    "{% set a = text + text %}{% set a = a + a %}{% set a = a + a %}{{ a }}",
    "{{ text | replace('x', text) }}",
    "{{ range(9999) | join(text) }}",
]


@pytest.mark.parametrize("text", ENDLESS)
def test_no_text_goes_on_for_ever(text):
    with pytest.raises(ValueError, match=r"more than|too large"):
        render(text, {"text": "x" * 20_000})


def test_what_texts_may_do():
    text = (
        "{% for each in rows if each.n %}{{ loop.index }}/{{ loop.length }} {{ each.name.removeprefix('a') }}"
        "{{ ', ' if not loop.last }}{% endfor %} {{ subject.present.gpus }} {{ subject.ledger.get('idle', 0) }}"
        " {{ '%d of 1000 * 2' % 3 }} {{ 'a_b_c' | replace('_', ' ', 1) }} {{ [1, 2] | join(', ') ~ '.' }}"
        " {{ '%.1f' % (2 * 1.5) }} {{ '{:,}'.format(2 ** 20) }} {{ program.is_amd }} {{ 'x' in program.workloads }}"
    )
    known = {
        "rows": [{"name": "ab", "n": 1}, {"name": "c", "n": 0}, {"name": "ad", "n": 2}],
        "subject": {"present": {"gpus": 8}, "ledger": {}},
        "program": Program(workloads=frozenset("x")),
    }
    assert render(text, known) == "1/2 b, 2/2 d 8 0 3 of 1000 * 2 a b_c 1, 2. 3.0 1,048,576 False True"


def test_old_names_of_functions_still_work():
    known = SUBJECT | {"rows": [{"operator": "aten::mm", "name": "gemm"}]}
    old = "{{ short(12.345) }} {{ figure(12) }} {{ rate(25.2) }} {{ part(1, 4) }} {{ kernel('f<int>()') }} {{ operators(rows) }}"
    assert render(old, known) == "12.3 12.0 25.2 GB/s 0.25 f aten::mm"
    new = "{{ number(12.345) }} {{ gb_per_s(25.2) }} {{ share_of(1, 4) }} {{ kernel_name('f<T>') }} {{ operator_names(rows) }}"
    assert render(new, known) == "12.3 25.2 GB/s 0.25 f aten::mm"


OLD = {"short", "figure", "rate", "part", "kernel", "operators"}


def test_headers_use_no_old_names_of_functions():
    assert_none(
        f"{name}: {key} calls {call.node.name}"
        for name, query in QUERIES.items()
        for key, text in query.header.items()
        if is_template(text)
        for call in make_environment().parse(text).find_all(nodes.Call)
        if isinstance(call.node, nodes.Name) and call.node.name in OLD
    )


def test_a_pattern_that_python_would_search_for_ever():
    known = trace_words(MagicMock(connection=duckdb.connect()))
    assert render("{{ text | matched('(a+)+$') }}.", known | {"text": "a" * 50 + "!"}) == "."
    assert render("{{ match('say hello', 'h.l+') }}", known) == "hell"
