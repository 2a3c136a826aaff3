"""Chrome traces that end early, hold nothing, or are damaged anywhere: rows and a note, or an error of one line."""

from __future__ import annotations

import gzip
import zipfile

import pytest
from chrome_trace import count_notes, make_kernel, make_op, pick_columns, read_tables, render_text, write_text
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from traceq.errors import TraceqError, UnusableTrace
from traceq.importers import chrome
from traceq.importers.chrome import cut

BEFORE, AFTER = make_op("before", 1, 1), make_op("after", 3, 1)

# ---- files that end early

EVENTS = [make_op(f"op{number}", number, 1, {"External id": number, "list": [{"x": 1}]}) for number in range(20)]


@pytest.mark.slow
@pytest.mark.parametrize("compressed", [False, True])
def test_a_truncated_file_gives_what_was_there(tmp_path, compressed):
    whole = render_text(*EVENTS)
    for length in range(whole.index("op1"), len(whole) - 3, 37):
        content = whole[:length].encode()
        # A gzip file of which the end is missing: as if the job had been killed while it wrote.
        tables = read_tables(write_text(tmp_path, gzip.compress(content)[:-8] if compressed else content))
        found = [row["name"] for row in tables["cpu_slice"]]
        assert found == [f"op{number}" for number in range(len(found))]
        assert len(found) == whole[:length].count("}]}}")
        assert count_notes(tables)["truncated"] == 1
        assert count_notes(tables).keys() <= {"truncated", "malformed_event"}


@pytest.mark.parametrize("end", ["", "\n", ",", ",\n"])
def test_a_killed_job_leaves_whole_events(tmp_path, end):
    tables = read_tables(write_text(tmp_path, render_text(BEFORE, AFTER).removesuffix("\n]}") + end))
    assert pick_columns(tables["cpu_slice"], "name") == [("before",), ("after",)]
    assert count_notes(tables) == {"truncated": 1}


def test_damage_within_a_gzip_file(tmp_path):
    content = bytearray(gzip.compress(render_text(*(make_op(f"op{n * n}", n, 1) for n in range(20_000))).encode()))
    content[len(content) // 2] ^= 255
    tables = read_tables(write_text(tmp_path, bytes(content)))
    assert 5_000 < len(tables["cpu_slice"]) < 20_000
    assert count_notes(tables)["truncated"] == 1


# ---- files of which nothing can be read


def write_archive(path, *members):
    with zipfile.ZipFile(path, "w") as file:
        for member in members:
            file.writestr(member, render_text(BEFORE))
    return path.read_bytes()


def test_files_that_hold_nothing_say_so(tmp_path):
    two = write_archive(tmp_path / "two.zip", "a.json", "b.json")
    contents = {
        "no events": render_text(),
        "no list": '{"traceEvents": {"a": 1}}',
        "only garbage": '{"traceEvents": [}}}}',
        "two traces": two,
        "cut archive": two[: len(two) // 2],
        "cut within the header": '{"schemaVersion": 1, "traceEv',
    }
    for name, content in contents.items():
        path = write_text(tmp_path, content)
        with pytest.raises(UnusableTrace) as caught:
            read_tables(path)
        assert str(path) in str(caught.value), name
        assert "\n" not in str(caught.value), name


# ---- what must hold for every damage


WHOLE = render_text(
    *EVENTS[:6], make_kernel("k", 1, 1, {"grid": [1, 2, 3]}), {"ph": "C", "name": "c", "ts": 1, "args": {"v": 1}}
).encode()
ODD = [
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\x00",
    b"\xff",
    b"9" * 30,
    b"-",
    b"null",
    b"NaN",
    b"1e999",
    b"\n",
]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(0, len(WHOLE)), st.integers(0, 12), st.sampled_from([b"", *ODD])), max_size=4),
    st.sampled_from([200, 1000, 1 << 22]),
)
def test_any_damage_ends_in_rows_or_in_an_error_of_one_line(tmp_path, changes, size):
    content = WHOLE
    for position, removed, inserted in changes:
        content = content[:position] + inserted + content[position + removed :]
    path = write_text(tmp_path, content)
    chrome.sniff(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cut, "BLOCK_BYTES", size)
        try:
            tables = read_tables(path)
        except TraceqError as error:
            assert "\n" not in str(error)  # noqa: PT017 - not every damage raises
        else:
            ids = [row["slice_id"] for table in ("cpu_slice", "gpu_slice") for row in tables[table]]
            assert len(ids) == len(set(ids))
            assert len(tables["trace"]) == 1
