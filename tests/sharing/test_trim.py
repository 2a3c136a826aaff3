from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from excerpt_checks import counted, differences, said

from traceq.app.api import trim
from traceq.app.trim import read_steps
from traceq.database.connect import connect
from traceq.errors import WrongUse
from traceq.importers.chrome.records import EventRecords
from traceq.loading.ingest import ingest
from traceq.loading.options import TraceOptions

FIXTURES = Path(__file__).parents[2] / "fixtures"
_QUICK = ("kineto_2021_array", "kineto_2026", "nsys_2026.2")
RUNS = [
    pytest.param(path, id=path.name, marks=[] if path.name.startswith(_QUICK) else pytest.mark.slow)
    for path in sorted((FIXTURES / "run").glob("*.*"))
]
KINETO = FIXTURES / "run" / "kineto_2026.json.gz"
NSYS = FIXTURES / "run" / "nsys_2026.2.sqlite"


def read_suffix(path: Path) -> str:
    return ".json.gz" if ".json" in path.name else ".sqlite"


@pytest.fixture
def database(tmp_path):
    """database(path, **options): the database of a trace."""
    opened = []

    def made(path, **options):
        target = tmp_path / f"{len(opened)}.duckdb"
        ingest([path], target, options=TraceOptions(**options))
        opened.append(connect(target))
        return opened[-1]

    yield made
    for each in opened:
        each.close()


def list_names(connection):
    return [name for (name,) in connection.execute("select name from step order by step").fetchall()]


@pytest.mark.slow
@pytest.mark.parametrize("path", RUNS)
def test_a_part_says_of_its_steps_what_the_whole_does(path, database, databases, tmp_path):
    whole = databases(path)
    ((first, last),) = whole.execute("select min(step), max(step) from step").fetchall()
    numbers = (
        [int(name.rpartition("#")[2]) for name in list_names(whole)]
        if "#" in list_names(whole)[0]
        else [*range(first, last + 1)]
    )
    middle = len(numbers) // 2
    for chosen in ((numbers[middle], numbers[middle]), (numbers[1], numbers[-1])):
        target = tmp_path / f"part{read_suffix(path)}"
        (written,) = trim(path, target, steps=f"{chosen[0]}..{chosen[1]}", force=True)
        part = database(target)
        assert differences(whole, part) == {}
        assert written.steps == len(list_names(part)) == chosen[1] - chosen[0] + 1
        assert counted(part)["host"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("path", [KINETO, NSYS], ids=lambda path: path.name)
def test_a_window_says_what_the_whole_says_of_it(path, database, tmp_path):
    for window in ("0.1ms..0.4ms", "1ms.."):
        target = tmp_path / f"part{read_suffix(path)}"
        trim(path, target, window=window, force=True)
        assert differences(database(path, window=window), database(target)) == {}


@pytest.mark.slow
def test_one_step_alone_is_still_a_step_by_its_own_name(database, tmp_path):
    name = list_names(database(KINETO))[2]
    trim(KINETO, tmp_path / "one.json", steps=name.rpartition("#")[2])
    assert list_names(database(tmp_path / "one.json")) == [name]


@pytest.mark.slow
def test_a_part_of_a_part_is_a_part_of_the_whole(database, tmp_path):
    whole = database(KINETO)
    numbers = [name.rpartition("#")[2] for name in list_names(whole)]
    trim(KINETO, tmp_path / "more.json.gz", steps=f"{numbers[1]}..{numbers[3]}")
    trim(tmp_path / "more.json.gz", tmp_path / "one.json", steps=numbers[2])
    assert differences(whole, database(tmp_path / "one.json")) == {}


def test_events_are_copied_character_for_character(tmp_path):
    trim(KINETO, tmp_path / "part.json", steps="5")
    with EventRecords(tmp_path / "part.json") as part, EventRecords(KINETO) as whole:
        original = {bytes(event) for _, events in whole.read_blocks() for event in events}
        copied = [bytes(event) for _, events in part.read_blocks() for event in events]
    assert len(copied) > 100
    assert set(copied) <= original


def test_arrows_have_both_ends(tmp_path):
    trim(KINETO, tmp_path / "part.json", steps="5")
    arrows = [
        each for each in json.loads((tmp_path / "part.json").read_text())["traceEvents"] if each["ph"] in ("s", "f")
    ]
    starts = sorted((each["cat"], each["id"]) for each in arrows if each["ph"] == "s")
    assert starts == sorted((each["cat"], each["id"]) for each in arrows if each["ph"] == "f")


def test_members_beside_the_events_stay(tmp_path, database):
    path = tmp_path / "trace.json"
    events = [
        {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{n}", "ts": 10 * n, "dur": 10, "pid": 1, "tid": 1}
        for n in range(4)
    ]
    path.write_text(json.dumps({"traceq": {"rank": 3, "world_size": 4}, "traceEvents": events, "mine": {"a": [1]}}))
    trim(path, tmp_path / "part.json", steps="2")
    part = json.loads((tmp_path / "part.json").read_text())
    assert part["mine"] == {"a": [1]}
    assert part["traceq"]["rank"] == 3
    assert [event["name"] for event in part["traceEvents"]] == ["ProfilerStep#2"]
    assert database(tmp_path / "part.json").execute("select rank from trace").fetchall() == [(3,)]


@pytest.mark.slow
def test_ranges_of_two_events_stay_pairs(tmp_path, database):
    path = tmp_path / "trace.json"
    place = {"pid": 1, "tid": 1}
    events = []
    for number in range(4):
        at = 100 * number
        events += [
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}", "ts": at, "dur": 100, **place}
        ]
        events += [
            {"ph": "B", "name": "outer", "ts": at + 10, **place},
            {"ph": "B", "name": "inner", "ts": at + 20, **place},
        ]
        events += [{"ph": "E", "ts": at + 30, **place}, {"ph": "E", "ts": at + 40, **place}]
    path.write_text(json.dumps(events))
    trim(path, tmp_path / "part.json", steps="1..2")
    assert differences(database(path), database(tmp_path / "part.json")) == {}


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "name",
    [
        "truncated_json",
        "unescaped_quote",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("nan_tokens", "trailing_comma", "unsorted_events")),
    ],
)
def test_a_damaged_trace_is_trimmed_as_it_is_read(name, tmp_path, database):
    path = FIXTURES / "broken" / f"{name}.json"
    whole = database(path)
    trim(path, tmp_path / "part.json", steps=f"{list_own_names(whole)[0]}..{list_own_names(whole)[-1]}")
    assert differences(whole, database(tmp_path / "part.json")) == {}


def list_own_names(connection):
    numbers = [name.rpartition("#")[2] for name in list_names(connection)]
    return [int(each) for each in numbers] if all(each.isdigit() for each in numbers) else [*range(len(numbers))]


@pytest.mark.slow
def test_views_and_triggers_of_an_export_are_neither_run_nor_copied(tmp_path, database):
    path = tmp_path / "export.sqlite"
    path.write_bytes(NSYS.read_bytes())
    with closing(sqlite3.connect(path)) as export:
        export.execute("create view v as select writefile('/tmp/never', value) from StringIds")
        export.execute("create trigger t after insert on StringIds begin delete from StringIds; end")
        export.commit()
    number = list_own_names(database(path))[1]
    trim(path, tmp_path / "part.sqlite", steps=str(number))
    with closing(sqlite3.connect(tmp_path / "part.sqlite")) as part:
        assert part.execute("select count(*) from sqlite_master where type in ('view', 'trigger')").fetchall() == [(0,)]
    assert differences(database(path), database(tmp_path / "part.sqlite")) == {}


@pytest.mark.slow
def test_ranks_of_a_job_go_into_a_folder(tmp_path, database):
    job = tmp_path / "job"
    job.mkdir()
    for rank in range(3):
        events = [
            {
                "ph": "X",
                "cat": "user_annotation",
                "name": f"ProfilerStep#{n}",
                "ts": 10 * n,
                "dur": 10,
                "pid": 1,
                "tid": 1,
            }
            for n in range(4)
        ]
        (job / f"rank{rank}.json").write_text(
            json.dumps({"distributedInfo": {"rank": rank, "world_size": 3}, "traceEvents": events})
        )
    written = trim(job, tmp_path / "out", ranks=[0, 2], steps="1")
    assert [each.path.name for each in written] == ["rank0.json", "rank2.json"]
    assert list_names(database(tmp_path / "out" / "rank2.json")) == ["ProfilerStep#1"]
    with pytest.raises(WrongUse, match="no trace is of rank 7"):
        trim(job, tmp_path / "out2", ranks=[7])


@pytest.mark.slow
def test_all_of_a_rank_is_the_whole(tmp_path, database):
    rank = database(KINETO).execute("select rank from trace").fetchall()[0][0]
    trim(KINETO, tmp_path / "part.json.gz", ranks=[rank])
    part = database(tmp_path / "part.json.gz")
    assert differences(database(KINETO), part) == {}
    assert len(said(part)["steps"]) == len(list_names(database(KINETO)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "Say what to keep"),
        ({"steps": "1", "window": "gpu"}, "give only one"),
        ({"steps": "x"}, "--steps x"),
        ({"steps": "5..3"}, "5..3"),
        ({"steps": "900"}, "no such steps"),
        ({"window": "nobody..nothing"}, "no annotation"),
    ],
)
def test_what_cannot_be_is_said(options, message, tmp_path):
    with pytest.raises(WrongUse, match=message):
        trim(KINETO, tmp_path / "part.json.gz", **options)
    assert not (tmp_path / "part.json.gz").exists()


def test_the_name_must_fit_the_format(tmp_path):
    with pytest.raises(WrongUse, match="sqlite"):
        trim(NSYS, tmp_path / "part.json", steps="1")
    with pytest.raises(WrongUse, match="is the input"):
        trim(KINETO, KINETO, steps="1")


def test_steps_are_one_or_two_numbers():
    assert read_steps("3") == (3, 3)
    assert read_steps(" 3..5 ") == (3, 5)


def _make_job(tmp_path):
    job = tmp_path / "job"
    job.mkdir()
    for rank in range(2):
        (job / f"{rank}.json").write_text(
            '{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1, "pid": 1, "tid": 1}]}'
        )
    return job


def test_several_traces_need_a_directory_and_leave_none_that_is_empty(tmp_path):
    job = _make_job(tmp_path)
    with pytest.raises(WrongUse, match="-o DIR"):
        trim(job, tmp_path / "out.json", steps="0")
    with pytest.raises(WrongUse, match=r"--steps 70: "):
        trim(job, tmp_path / "out", steps="70")
    assert {each.name for each in tmp_path.iterdir()} == {"job"}


def test_what_is_there_is_replaced_with_force_only(tmp_path):
    target = tmp_path / "part.json"
    target.write_text("mine")
    with pytest.raises(WrongUse, match="--force"):
        trim(KINETO, target, steps="4")
    assert target.read_text() == "mine"
    trim(KINETO, target, steps="4", force=True)
    assert target.read_text() != "mine"


def test_a_window_behind_the_trace_is_said_with_its_end(tmp_path):
    with pytest.raises(WrongUse, match=r"begins 100.0 s after the first GPU work; the trace ends \d+\.\d+ ms after it"):
        trim(KINETO, tmp_path / "part.json", window="100s..200s")
    with pytest.raises(WrongUse, match="the trace ends"):
        ingest([KINETO], tmp_path / "x.duckdb", options=TraceOptions(window="100s.."))


def test_trim_takes_and_keeps_the_numbers_that_a_report_shows(tmp_path, database):
    """Steps that nothing marks have none of the program: the whole trace's count goes on in the part."""
    events = []
    for number in range(8):
        ts = 1000 * number
        correlation = {"correlation": number + 1}
        events += [
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "ts": ts, "dur": 5, "pid": 1, "tid": 1}
            | {"args": correlation},
            {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "ts": ts + 10, "dur": 50, "pid": 0, "tid": 7}
            | {"args": correlation | {"device": 0, "stream": 7, "bytes": 1024}},
        ]
        for launch in range(4):
            at, correlation = ts + 100 + 50 * launch, {"correlation": 100 * number + launch + 100}
            events += [
                {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at, "dur": 5, "pid": 1, "tid": 1}
                | {"args": correlation},
                {"ph": "X", "cat": "kernel", "name": f"gemm_{launch}", "ts": at + 10, "dur": 30, "pid": 0, "tid": 7}
                | {"args": correlation | {"device": 0, "stream": 7}},
            ]
    whole, part = tmp_path / "whole.json", tmp_path / "part.json"
    whole.write_text(json.dumps({"traceEvents": events}))
    steps = "select step, ts - (select min(ts) from gpu_slice) from step where source = 'recurrence' order by step"
    numbers = [step for step, _ in database(whole).execute(steps).fetchall()]
    assert len(numbers) > 5
    trim(whole, part, steps="3..4")
    assert [step for step, _ in database(part).execute(steps).fetchall()] == [3, 4]
