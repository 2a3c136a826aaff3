"""Dumps in every form that PyTorch and others write: read alike, or refused in a line."""

from __future__ import annotations

import gzip
import json
import os
import pickle
from contextlib import suppress
from pathlib import Path

import pytest
from hanging_job import Grid, Op, make_dump, run_job
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch_pickler import Frame, TorchPickler

from traceq.app.hang import explain_hang
from traceq.errors import NoTraces, UnknownFormat, UnusableTrace
from traceq.importers.flight_recorder import has_name_of_dump, is_dump, rank_in_name, read_tables
from traceq.loading.dumps import find_dumps, open_dumps

FRAMES = [{"name": f"layer{number}", "filename": "train.py", "line": number} for number in range(5)]
TABLES = ["recorded_dump", "recorded_group", "recorded_stack", "recorded_fact", "recorded_call"]


def make_example(rank: int = 0, calls: int = 12) -> dict[str, object]:
    """Return a dump with stacks of a rank of four, whose last call waits."""
    grid = Grid(2, 2)
    program = [Op(("tp", "dp", "default_pg")[number % 3], "all_reduce", 8 + number % 5) for number in range(calls)]
    dump = make_dump(grid, rank, run_job(grid, [program, program, program, program[:-1]])[rank])
    for number, entry in enumerate(dump["entries"]):
        entry["frames"] = FRAMES[number % 3 :]
        for name in ("time_discovered_started_ns", "time_discovered_completed_ns"):
            entry[name] = entry[name] or None
    return dump


def write_as_torch(dump: dict[str, object]) -> bytes:
    """Return the dump as PyTorch's C++ pickles it."""
    frames = [Frame(frame) for frame in FRAMES]
    entries = [
        {
            **entry,
            "frames": [frames[FRAMES.index(frame)] for frame in entry["frames"]],
            "process_group": tuple(entry["process_group"]),
        }
        for entry in dump["entries"]
    ]
    return TorchPickler().dump({**dump, "entries": entries})


def read_rows(path: Path, *tables: str) -> dict[str, list[dict[str, object]]]:
    """Return the rows of a dump by table, without its path and format."""
    rows = {table: batch.to_pylist() for table, batch in read_tables(path) if table in (tables or TABLES)}
    for row in rows.get("recorded_dump", []):
        del row["path"], row["format"]
    return rows


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickles_of_python_read_as_those_of_pytorch(tmp_path, protocol):
    """PyTorch's entries are matched at once, Python's one by one: the rows are the same."""
    dump = make_example(calls=60)
    (tmp_path / "a_0").write_bytes(write_as_torch(dump))
    (tmp_path / "b_0").write_bytes(pickle.dumps(dump, protocol))
    assert read_rows(tmp_path / "a_0") == read_rows(tmp_path / "b_0")


def test_json_reads_the_same(tmp_path):
    """PyTorch writes no stacks into it; where somebody did, they are read."""
    dump = make_example()
    (tmp_path / "a_0").write_bytes(write_as_torch(dump))
    (tmp_path / "b_0.json").write_text(json.dumps(dump))
    assert read_rows(tmp_path / "a_0") == read_rows(tmp_path / "b_0.json")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    numbers=st.lists(st.sampled_from([0, 1, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**62]), min_size=8, max_size=8),
    sizes=st.lists(st.lists(st.sampled_from([0, 1, 93, 101, 300, 70_000]), max_size=3), max_size=3),
    has_duration=st.lists(st.booleans(), min_size=8, max_size=8),
)
def test_any_numbers_and_sizes(tmp_path, numbers, sizes, has_duration):
    """Bytes of numbers look like opcodes: 93 is the one that begins a list, 101 the one that ends it."""
    dump = make_example(calls=8)
    for entry, number, is_timed in zip(dump["entries"], numbers, has_duration, strict=False):
        changed = {"record_id": number, "time_created_ns": number + 1, "input_sizes": sizes, "output_sizes": sizes[:1]}
        entry.update(changed | ({"duration_ms": 1.5} if is_timed else {}))
    (tmp_path / "a_0").write_bytes(write_as_torch(dump))
    (tmp_path / "b_0").write_bytes(pickle.dumps(dump))
    assert read_rows(tmp_path / "a_0") == read_rows(tmp_path / "b_0")


def test_a_pickle_that_would_run_something_is_refused(tmp_path):
    marker = tmp_path / "ran"

    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(marker),)

    for place in ("top", "entry", "frames"):
        dump = make_example()
        if place == "top":
            dump["comm_lib_version"] = Evil()
        else:
            dump["entries"][3]["op_id" if place == "entry" else "frames"] = Evil()
        path = tmp_path / f"{place}_0"
        path.write_bytes(pickle.dumps(dump))
        assert is_dump(path)
        with pytest.raises(UnusableTrace, match="is not one for numbers, text, lists or dicts; not read"):
            list(read_tables(path))
    assert not marker.exists()


def test_every_cut_is_read_or_refused(tmp_path):
    """Never more than there is, never an error that is no line; of a cut pickle the whole entries are read."""
    content = write_as_torch(make_example(calls=9))
    whole = read_rows(write(tmp_path / "whole_0", content), "recorded_call")["recorded_call"]
    seen = set()
    for size in range(0, len(content), 3):
        path = write(tmp_path / "cut_0", content[:size])
        try:
            rows = read_rows(path, "recorded_call", "recorded_dump")
        except UnusableTrace:
            continue
        read_calls = rows["recorded_call"]
        assert read_calls == whole[: len(read_calls)]
        assert (rows["recorded_dump"][0]["fault"] or "").startswith("it ends too early, after entry")
        seen.add(len(read_calls))
    assert seen == set(range(1, len(whole) + 1))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.floats(0, 1, exclude_max=True), value=st.integers(0, 255), is_json=st.booleans())
def test_damaged_bytes(tmp_path, at, value, is_json):
    """Read with other values, or refused: nothing else is raised."""
    dump = make_example(calls=6)
    content = bytearray(json.dumps(dump).encode() if is_json else write_as_torch(dump))
    content[int(at * len(content))] = value
    path = write(tmp_path / "damaged_0", bytes(content))
    with suppress(UnusableTrace):
        list(read_tables(path))


def write(path: Path, content: bytes) -> Path:
    """Write the file and return its path."""
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"version": "1.2"}, "it is of version '1.2', and traceq knows 2.x"),
        ({"version": 3}, "it is of version '3', and traceq knows 2.x"),
        ({"entries": [{"record_id": 1}]}, "'process_group' is not a name and a description"),
        ({"entries": [7]}, "'entries' is no list of objects"),
    ],
)
def test_other_versions_and_contents(tmp_path, changed, why):
    path = write(
        tmp_path / "fr_trace_0.json", json.dumps({"comm_lib_version": "", **make_example(), **changed}).encode()
    )
    with pytest.raises(UnusableTrace, match=why.replace("'", ".")):
        list(read_tables(path))


def test_a_later_version_with_more_keys_is_read(tmp_path):
    dump = make_example()
    dump["version"] = "2.77"
    for entry in dump["entries"]:
        entry["something_new"] = ["a", {"b": 1}]
    (tmp_path / "a_0").write_bytes(write_as_torch(dump))
    assert read_rows(tmp_path / "a_0", "recorded_call")["recorded_call"]


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("nccl_trace_rank_3", 3),
        ("fr_trace_12", 12),
        ("fr_trace_12.json", 12),
        ("dump-7.pickle.gz", 7),
        ("rank5_trace", 5),
        ("trace", None),
        ("trace_99999999", None),
    ],
)
def test_ranks_in_names(name, rank):
    assert rank_in_name(Path(name)) == rank
    assert has_name_of_dump(Path(name)) == (rank is not None)


def test_the_rank_in_the_content_counts_more_than_that_in_the_name(tmp_path):
    path = write(tmp_path / "fr_trace_0.json", json.dumps({**make_example(), "rank": 5}).encode())
    (row,) = read_rows(path, "recorded_dump")["recorded_dump"]
    assert (row["rank"], row["rank_source"]) == (5, "content")


def test_gzip(tmp_path):
    content = write_as_torch(make_example())
    path = write(tmp_path / "fr_trace_0.gz", gzip.compress(content))
    assert is_dump(path)
    assert read_rows(path) == read_rows(write(tmp_path / "fr_trace_0", content))


def test_files_of_a_folder(tmp_path):
    """Dumps are known by their content, empty ones by their name; JSON beside a pickle is the same dump."""
    write(tmp_path / "fr_trace_0", write_as_torch(make_example(0)))
    write(tmp_path / "fr_trace_0.json", json.dumps(make_example(0)).encode())
    write(tmp_path / "fr_trace_1.json", json.dumps(make_example(1)).encode())
    write(tmp_path / "fr_trace_2", b"")
    write(tmp_path / "notes.txt", b"2")
    write(tmp_path / "empty.txt", b"")
    assert [path.name for path in find_dumps([tmp_path])] == ["fr_trace_0", "fr_trace_1.json", "fr_trace_2"]
    with open_dumps([tmp_path]) as connection:
        rows = connection.execute("select rank, entries, fault from recorded_dump order by rank").fetchall()
    assert rows[:2] == [(0, 12, None), (1, 12, None)]
    assert rows[2][:2] == (2, None)
    assert rows[2][2].endswith("it is empty: the rank was stopped before it wrote anything")


def test_of_several_dumps_of_a_rank_the_latest_counts(tmp_path):
    for folder, calls in (("earlier", 6), ("later", 12)):
        (tmp_path / folder).mkdir()
        for rank in range(2):
            write(tmp_path / folder / f"fr_trace_{rank}", write_as_torch(make_example(rank, calls)))
    with open_dumps([tmp_path]) as connection:
        rows = connection.execute("select rank, entries, fault from recorded_dump order by rank, entries").fetchall()
        calls = connection.execute("select rank, count(*) from recorded_call group by rank order by rank").fetchall()
    later = [f"not used: {tmp_path}/later/fr_trace_{rank} is a later dump of its rank" for rank in range(2)]
    assert rows == [(0, 12, None), (0, None, later[0]), (1, 12, None), (1, None, later[1])]
    assert calls == [(0, 12), (1, 12)]


def test_a_dump_of_an_earlier_hang_is_named(tmp_path):
    """Rank 1 wrote none the second time."""
    for folder, calls, ranks in (("earlier", 6, (0, 1)), ("later", 12, (0,))):
        (tmp_path / folder).mkdir()
        for rank in ranks:
            write(tmp_path / folder / f"fr_trace_{rank}", write_as_torch(make_example(rank, calls)))
    hang = explain_hang(tmp_path).content
    assert hang.dumps.outdated == (1,)
    assert any(doubt.startswith("An earlier time: rank 1 wrote one dump") for doubt in hang.cannot_tell)
    assert explain_hang(tmp_path / "earlier").content.dumps.outdated == ()


@pytest.mark.parametrize(
    ("names", "error", "why"),
    [
        (["notes.txt"], UnknownFormat, "not a dump of PyTorch's flight recorder"),
        (["nothing_here"], UnusableTrace, "no such file"),
        (["folder"], NoTraces, "none of 1 file here is a dump"),
        (["*.xyz"], NoTraces, "none of 0 files here is a dump"),
        (["fr_trace_9"], UnusableTrace, "it is empty"),
        (["nameless"], UnusableTrace, "nothing tells its rank; name it after it"),
    ],
)
def test_what_is_no_dump(tmp_path, names, error, why):
    (tmp_path / "folder").mkdir()
    write(tmp_path / "folder" / "notes.txt", b"hello")
    write(tmp_path / "notes.txt", b"hello")
    write(tmp_path / "fr_trace_9", b"")
    write(tmp_path / "nameless", write_as_torch(make_example()))
    with pytest.raises(error, match=why), open_dumps([str(tmp_path / name) for name in names]):
        pass
