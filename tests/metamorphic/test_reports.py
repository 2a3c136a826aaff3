"""A trace file written in another way gives the same report, whole: what is judged must not hang on how it is written.

By default all changes of a small file of each family are made together, in one report; the slow run makes each alone, on the
real traces beside the checkout as well. docs/formats.md lists the changes, and what may differ after them.
"""

from __future__ import annotations

import pytest
from families import FAMILIES, SHARED, find_trace, report_unchanged
from reports import compare_reports, report_json

# Changes that undo others.
_NOT_WITH_ALL = {"texts in StringIds", "no empty columns", "texts in stats"}


@pytest.fixture(scope="session")
def traces(tmp_path_factory):
    """Return the folder of made-up traces."""
    return tmp_path_factory.mktemp("traces")


def list_cases():
    for name, family in FAMILIES.items():
        for trace in (family.fixture, *family.real):
            missing = trace in family.real and not (SHARED / trace).exists()
            marks = [pytest.mark.skip(reason="the folder shared is not beside the checkout")] if missing else []
            for change in family.changes:
                yield pytest.param(name, trace, change, marks=marks, id=f"{trace.split('/')[-1]}-{change}")


@pytest.mark.parametrize("name", FAMILIES)
def test_all_changes_at_once(name, traces, tmp_path):
    family = FAMILIES[name]
    source = find_trace(family.fixture, traces)
    changes = [change for change in family.means_the_same if change not in _NOT_WITH_ALL]
    written, by = family.write_named(source, tmp_path, *changes, list(family.moved)[-1], list(family.writers)[-1])
    assert compare_reports(report_json(written), report_unchanged(source), by) == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "trace", "change"), [*list_cases()])
def test_a_change(name, trace, change, traces, tmp_path):
    source = find_trace(trace, traces)
    written, by = FAMILIES[name].write_named(source, tmp_path, change)
    assert compare_reports(report_json(written), report_unchanged(source), by) == []
