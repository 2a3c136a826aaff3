from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from traceq.reports.document import (
    Facts,
    Fold,
    Heading,
    Items,
    Literal,
    Name,
    Paragraph,
    Picture,
    Query,
    Table,
    Title,
    Tracks,
    Verdict,
    Warn,
)
from traceq.reports.renderers.to_markdown import blocks_to_markdown

READER = MarkdownIt("commonmark", {"html": True}).enable("table")
WHOLE = "The same command with `-o report.html`"


class Page(HTMLParser):
    """The text of every cell, row by row; the tags; and all text that is not code."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.rows, self.tags, self.words, self._code = [], [], "", 0
        self._cell = None
        self.feed(READER.render(text))

    def handle_starttag(self, tag, _):
        self.tags.append(tag)
        self._code += tag == "code"
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self._cell = ""

    def handle_endtag(self, tag):
        self._code -= tag == "code"
        if tag in ("td", "th"):
            self.rows[-1].append(self._cell)
            self._cell = None

    def handle_data(self, data):
        self.words += "" if self._code else data
        if self._cell is not None:
            self._cell += data


def test_a_verdict_is_bold_and_a_fold_is_html_with_blank_lines_around_markdown():
    fold = Fold(("SQL of <F1> @me",), (Paragraph(("What it claims:",)), Query("select 1")))
    assert (
        blocks_to_markdown([Heading(2, ("Trace 1",)), Verdict(("Fix ", Title("a*b"), " first.")), fold])
        == """\
## Trace 1

**Fix a&#42;b first.**

<details><summary>SQL of &lt;F1&gt; @\N{WORD JOINER}me</summary>

What it claims:

```sh
traceq sql DB "select 1"
```

</details>
"""
    )


def test_pictures_are_shown_where_they_are_files():
    picture = Picture("steps", "Steps [1] of `x`", lambda: None)
    blocks = [picture, Paragraph(("a",)), Tracks(None), Fold(("Chart",), (picture,))]
    assert blocks_to_markdown(blocks) == "a\n"
    assert blocks_to_markdown(blocks[:2], pictures={"steps": "my report-steps (1).png", "other": "x.png"}) == (
        "![Steps &#91;1&#93; of &#96;x&#96;](my%20report-steps%20%281%29.png)\n\na\n"
    )


@pytest.mark.parametrize(
    "text",
    ["@octocat", "a @octocat.", "octo/cat#12", "see #12", "!7", "~bug", "%1.0", "$3", "&5", "GH-4", "@a@b", "x@y.org"],
)
def test_nobody_is_told_of_what_looks_like_a_mention(text):
    """GitHub and GitLab look for mentions in the finished page, where entities do not help, but not in code."""
    page = Page(blocks_to_markdown([Paragraph((text,)), Table(("a",), ((text,),))]))
    assert not re.search(r"[@~%]\w|[#!$&]\d|GH-\d", page.words)
    assert page.rows == [["a"], [text]]


@pytest.mark.parametrize("text", ["- a", "+ a", "1. a", "1) a", "/close", "=== ", "    a", "--- ", "> a", "# a"])
def test_a_line_that_looks_like_a_list_or_a_command_is_a_line(text):
    shown = blocks_to_markdown([Paragraph((text,)), Items(((text,),))])
    assert Page(shown).tags == ["p", "ul", "li"]
    assert Page(shown).words.split() == text.split() * 2
    assert not shown.startswith("/")


def test_what_is_fenced_cannot_end_its_fence():
    shown = blocks_to_markdown([Query("select 1 -- \n```\n<b>"), Query("select '````'"), Paragraph(("x",))])
    assert Page(shown).tags == ["pre", "code", "pre", "code", "p"]


HOSTILE = st.lists(
    st.sampled_from(
        ["a", "|", "\\", "`", "``", "\n", "<b>", "@me", "#1", "]", "](", "*", "_", "~~", " ", "&lt;", "https://x.y"]
    )
).map("".join)
KINDS = st.sampled_from([str, Name, Literal, Title])
CELLS = st.builds(lambda text, kind: kind(text), HOSTILE, KINDS)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=3), CELLS)
def test_no_name_breaks_a_table_or_makes_markup(rows, text):
    blocks = [
        Heading(3, ("A ", text)),
        Paragraph((text, " ends")),
        Warn(("Lost: ", text)),
        Items(((text,),)),
        Facts(((text, (text,)),)),
        Table(("a", text, "c"), tuple(rows)),
        Fold(("More ", text), (Paragraph(("last",)),)),
    ]
    page = Page(blocks_to_markdown(blocks))
    assert [len(row) for row in page.rows] == [3] * (1 + len(rows))
    for row, shown in zip(rows, page.rows[1:], strict=True):
        assert ["".join(cell.replace("\n", "\\n").split()) for cell in row] == ["".join(cell.split()) for cell in shown]
    paragraphs = ["h3", "p", "blockquote", "p", "strong", "ul", "li", "ul", "li", "strong"]
    assert [tag for tag in page.tags if tag not in ("code", "td", "tr", "p", "tbody")][:4] == [
        tag for tag in paragraphs if tag != "p"
    ][:4]
    assert set(page.tags) <= {"code", "td", "th", "tr", "table", "thead", "tbody", "details", "summary", *paragraphs}


def test_a_long_table_or_list_says_what_is_left_out_after_it():
    shown = blocks_to_markdown([Table(("name",), ((Name("x" * 98),),) * 1000), Items((("y" * 98,),) * 1000)])
    assert shown.count(f"| `{'x' * 98}` |\n") == 142
    assert f"|\n\n*... and 858 more.* {WHOLE} shows them.\n\n- yyy" in shown
    assert f"yyy\n- *... and 852 more.* {WHOLE} shows them.\n" in shown
    assert len(Page(shown).rows) == 143


def trace(number, findings=2, size=40):
    """Blocks as compose gives them; `size` is that of every text."""

    def text(name):
        return f"T{number} {name} {'x' * size}"

    yield Heading(2, (f"Trace {number}",), anchor=f"t{number}")
    yield Verdict((text("verdict"),))
    yield Table(("", "finding"), tuple((f"F{n}", Title(text(f"rank{n}"))) for n in range(1, findings + 1)))
    yield Heading(3, ("Findings",), anchor="findings")
    yield Paragraph((text("reading"),))
    for n in range(1, findings + 1):
        yield Heading(4, (f"F{n}",), anchor=f"F{n}")
        yield Facts((("fix", (text(f"fix{n}"),)),))
        yield Paragraph(("The pieces that cost most:",))
        yield Table(("piece",), ((text(f"piece{n}"),),))
        yield Fold(("SQL",), (Query(text(f"query{n}")),))
    for name in ("Copies", "Kernels"):
        yield Heading(3, (name,))
        yield Table(("what",), ((text(name.lower()),),))
        yield Query(text(f"query-{name}"))


def report(traces, findings=2, size=40):
    yield Heading(1, ("traceq report",))
    yield Paragraph(("About.",))
    for number in range(1, traces + 1):
        yield from trace(number, findings, size)


def names(text):
    return re.findall(r"T\d+ [\w-]+", text)


def test_what_fits_is_whole():
    shown = blocks_to_markdown(report(2))
    assert "eft out" not in shown
    assert len(names(shown)) == 2 * 14


def test_parts_are_left_out_by_importance_and_a_line_says_so():
    shown = blocks_to_markdown(report(2, size=500), 7_000)
    assert len(shown) < 7_000
    assert re.sub("x{9,}(…x+)?", "x", shown) == (
        f"""\
# traceq report

> **Note:** Left out to stay below 7,000 characters: 8 queries and 7 other parts. {WHOLE} shows all.

About.

## Trace 1

**T1 verdict x**

|  | finding |
| :--- | ---: |
| F1 | T1 rank1 x |
| F2 | T1 rank2 x |

### Findings

T1 reading x

#### F1

- **fix**: T1 fix1 x

The pieces that cost most:

| piece |
| :--- |
| T1 piece1 x |

#### F2

- **fix**: T1 fix2 x

*Left out here: 1 table, “Copies”, “Kernels”.* {WHOLE} shows it.

## Trace 2

**T2 verdict x**

|  | finding |
| :--- | ---: |
| F1 | T2 rank1 x |
| F2 | T2 rank2 x |

### Findings

T2 reading x

#### F1

- **fix**: T2 fix1 x

*Left out here: 1 table.* {WHOLE} shows it.

#### F2

- **fix**: T2 fix2 x

*Left out here: 1 table, “Copies”, “Kernels”.* {WHOLE} shows it.
"""
    )


IMPORTANCE = ("query", "copies|kernels", "piece", "fix", "reading", "verdict|rank")


def order(name):
    """When it may go: kind by kind, the later finding first where there are findings, the later trace first."""
    number, word = re.fullmatch(r"T(\d+) ([\w-]+)", name).groups()
    kind = next(at for at, words in enumerate(IMPORTANCE) if re.match(words, word))
    finding = int(re.search(r"\d*$", word)[0] or 0) if kind in (2, 3) else 0
    return kind, -finding, -int(number)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 30), st.integers(1, 6), st.integers(0, 1500), st.integers(6_000, 60_000))
def test_it_is_always_below_the_limit_in_order_and_the_essential_stays(traces, findings, size, limit):
    whole = blocks_to_markdown(report(traces, findings, size), 10**9)
    shown = blocks_to_markdown(report(traces, findings, size), limit)
    kept = names(shown)
    gone = [name for name in names(whole) if name not in set(kept)]
    assert len(shown) < limit
    assert kept[0] == "T1 verdict"
    assert kept == [name for name in names(whole) if name in set(kept)]
    assert shown == whole or gone
    of_kind = {kind: [order(name)[1:] for name in gone if order(name)[0] == kind] for kind in range(len(IMPORTANCE))}
    last = max((order(name)[0] for name in gone), default=0)
    assert all(order(name)[0] >= last for name in kept)
    for name in kept:
        kind, *rest = order(name)
        assert kind != 3 or all(tuple(rest) >= each for each in of_kind[kind])
    page = Page(shown)
    assert page.tags.count("details") == shown.count("</details>") == page.tags.count("summary")


@pytest.mark.parametrize(("make", "megabytes"), [(Name, 10), (str, 1), (Literal, 1), (Title, 1)])
def test_megabytes_in_every_text_are_below_the_limit_too(make, megabytes):
    huge = make("`|<x>日 " * (megabytes * 110_000))
    blocks = [Heading(1, (huge,)), Paragraph((huge,)), Heading(2, (huge,)), Verdict((huge, " first")), Warn((huge,))]
    blocks += [Items(((huge,),)), Facts(((huge, (huge,)),)), Table(("a", huge), ((huge, huge),)), Query(huge)]
    shown = blocks_to_markdown([*blocks, Fold((huge,), (Paragraph((huge,)),))])
    assert len(shown) < 60_000
    assert "**&#96;" in shown


def test_a_report_of_headings_alone_is_one():
    assert blocks_to_markdown([Heading(1, ("a",)), Heading(2, ("b",)), Heading(1, ("c",))]) == "# a\n\n## b\n\n# c\n"
    assert blocks_to_markdown([]) == "\n"
