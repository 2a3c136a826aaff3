"""What each format can hold is said in one room: every need and metric has its words there, and nobody else asks for names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import traceq
from traceq.diagnosis.needs import NEEDS
from traceq.formats.capabilities import FORMATS, METRICS, format_of
from traceq.importers import IMPORTERS

PACKAGE = Path(traceq.__file__).parent
FILES = [
    path
    for path in sorted(PACKAGE.rglob("*"))
    if path.suffix in {".py", ".sql"} and path.relative_to(PACKAGE).parts[0] not in {"formats", "importers"}
]

_NAMES = "|".join(re.escape(each.name) for each in FORMATS)
# A comparison of something called format with a name, in Python or SQL, in either order; and a look-up by such a name.
_COMPARED = re.compile(
    rf"""format\w*\)?\s*(?:==|!=|=|<>|\bin\b|\bis(?:\s+not)?(?:\s+distinct\s+from)?)\s*[\[({{]?\s*["'](?:{_NAMES})["']"""
    rf"""|from\s+trace\)\s*(?:=|<>|is)[^\n]*'(?:{_NAMES})'"""
    rf"""|["'](?:{_NAMES})["']\s*(?:==|!=|=|<>)\s*\w*\.?\w*format"""
)


def test_there_is_a_record_for_each_importer():
    assert {each.name for each in FORMATS} == {each.NAME for each in IMPORTERS}


def test_comparisons_with_the_name_of_a_format_are_recognised():
    for text in (
        'if subject.format == "nsys":',
        'run.format != "chrome"',
        "t.format <> 'nsys'",
        "(select format from trace) = 'nsys'",
        "(select format from trace) is distinct from 'nsys'",
        'trace_format in ("chrome",)',
        '"nsys" == trace.format',
    ):
        assert _COMPARED.search(text), text
    for text in ('backend == "nsys"', 'format_ == "json"', "format(name='nsys')"):
        assert not _COMPARED.search(text), text


def test_nobody_else_compares_the_format_with_a_name():
    assert len(FILES) > 300
    found = {str(path.relative_to(PACKAGE)): _COMPARED.findall(path.read_text("utf-8")) for path in FILES}
    assert {name: compared for name, compared in found.items() if compared} == {}


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_each_metric_and_each_need_has_its_words(form):
    assert list(form.captures) == list(METRICS)
    assert set(NEEDS) <= set(form.ways)


def test_words_that_nobody_asks_for_are_not_kept():
    text = "\n".join(path.read_text("utf-8") for path in FILES)
    asked_for = set(
        # also where a header goes on in the next line
        re.findall(
            r"""(?:(?:way|how_to_record)\((?:\s*--)?\s*(?:report, )?|lacks\([^()]*?,\s*(?:--\s*)?|name = )["'](\w+)["']""",
            text,
        )
    )
    asked_for |= set(re.findall(r"""else ["'](\w+)["']\)""", text))
    for form in FORMATS:
        assert set(form.ways) - set(NEEDS) <= asked_for, form.name


def test_of_a_format_without_a_record_the_name_is_all_that_is_known():
    form = format_of("perfetto")
    assert (form.name, form.profiler) == ("perfetto", "the profiler")
    assert not form.captures
    assert not form.ways


_SAID = {
    *NEEDS,
    *("allocator", "allocator_totals", "collections", "process_groups", "reads", "worker_activity"),
    *("graph_nodes", "host_side", "operator_names", "operator_ranges", "page_faults"),
}


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_the_words_for_what_records_an_input_fit_the_sentences_that_take_them(form):
    """ "...; WORDS brings it" and "capture with WORDS": no words twice, no sentence of their own, no plural."""
    for name in _SAID & set(form.ways):
        words = form.ways[name]
        said = f"{words} brings it. capture with {words}" if words else ""
        assert not re.search(
            r"capture with (a |the )?capture|with with|nothing of|pages brings|: with|; | mark steps", said
        ), said
        assert not re.search(r"(shows?|describes?|tells?) \w+ brings|\(\) and \w+\(\)$", words) or words.startswith(
            "a snapshot by"
        )
