from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traceq.reports.document import Facts, Fold, Heading, Items, Literal, Name, Paragraph, Query, Table, Verdict, Warn
from traceq.reports.renderers.to_jira import blocks_to_jira

# What begins something in Jira's markup, wherever it stands.
MARKS = "{}[]|*^~!#\\"


def test_each_block_has_its_markup():
    blocks = [
        Heading(2, ("Trace 1",)),
        Verdict(("Fix this.",)),
        Paragraph(("See ", Name("a|b"), " and ", Literal("traceq report X"), ".")),
        Warn(("Careful.",)),
        Items((("one",), ("two",))),
        Facts((("fix", ("Do it.",)),)),
        Table(("", "time"), (("F1", "3 ms"),)),
        Fold(("SQL",), (Query("select 1"),)),
    ]
    assert (
        blocks_to_jira(blocks)
        == """\
h2. Trace 1

*Fix this.*

See {{a&#124;b}} and {{traceq report X}}.

{note}Careful.{note}

* one
* two

* *fix*: Do it.

|| ||time||
|F1|3 ms|

h5. SQL

{noformat}
select 1
{noformat}
"""
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("-12 ms, a-b, 3 - 4", "&#45;12 ms, a-b, 3 &#45; 4"),
        ("ABC-12 and SM80-4", "ABC&#45;12 and SM80&#45;4"),
        ("idle_data, _x_", "idle_data, &#95;x&#95;"),
        ("https://x.org www.x.org", "https:&#47;&#47;x.org www&#46;x.org"),
        ("[~me] :) (!) what??", "&#91;&#126;me&#93; &#58;) (&#33;) what&#63;?"),
        ("h1. no heading", "&#104;&#49;. no heading"),
        ("bq. no quote", "&#98;&#113;. no quote"),
    ],
)
def test_words_mean_nothing_to_jira(text, shown):
    assert blocks_to_jira([Paragraph((text,))]) == shown + "\n"


@given(st.text(max_size=80))
def test_no_name_starts_anything(text):
    shown = blocks_to_jira([Paragraph(("x", Name(text), "y"))]).strip()
    inside = shown.removeprefix("x{{").removesuffix("}}y")
    assert not [mark for mark in MARKS.replace("#", "") if mark in inside.replace("&#", "")]
    assert "\n" not in inside


def test_a_query_cannot_end_its_block():
    shown = blocks_to_jira([Query("select '{noformat}h1. out'")])
    assert shown.count("{noformat}") == 2
