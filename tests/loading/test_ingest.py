"""From what the user names to the tables: what is read, where it goes, and that doing it again changes nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest
from small_traces import ROOT, error_of, ingest, names_in, query_database, read_contents, trace_file

from traceq.database.connect import connect
from traceq.errors import NoTraces, QueryError, StoreError, UnusableTrace
from traceq.loading.ingest import IngestedTrace, IngestResult
from traceq.loading.options import TraceOptions
from traceq.loading.sources import default_database, find_sources

RUN = ROOT / "fixtures" / "run"
BOTH_FORMATS = [RUN / "kineto_2026.json.gz", RUN / "nsys_pre2021.sqlite"]


def find_all(*given):
    return [source.path for source in find_sources(given)]


def locate_files(*given):
    return default_database(find_sources(given), given)


# What is read.


def test_one_file(tmp_path):
    source = trace_file(tmp_path / "a.json", kernels=4)
    result = ingest([source], tmp_path / "t.duckdb")
    assert result == IngestResult(
        tmp_path / "t.duckdb", (IngestedTrace(source, 1, cpu_slices=0, gpu_slices=4, notes=2),), ()
    )
    assert names_in(tmp_path) == ["a.json", "t.duckdb"]


@pytest.mark.slow
def test_the_time_of_ingest_is_utc_wherever_the_machine_stands(tmp_path):
    source = trace_file(tmp_path / "a.json")
    program = f"import sys; sys.path[:] = {sys.path!r}; import traceq; traceq.ingest(sys.argv[1], sys.argv[2])"
    before = datetime.now(UTC).replace(tzinfo=None)
    subprocess.run(
        [sys.executable, "-c", program, source, tmp_path / "t.duckdb"],
        env={**os.environ, "TZ": "Asia/Tokyo"},
        check=True,
    )
    ((ingested_at,),) = query_database(tmp_path / "t.duckdb", "select ingested_at from trace")
    assert before <= ingested_at <= datetime.now(UTC).replace(tzinfo=None)


@pytest.mark.slow
def test_files_of_both_formats_are_numbered_in_the_order_given(tmp_path):
    result = ingest(BOTH_FORMATS, tmp_path / "t.duckdb")
    assert [(each.path, each.trace_id) for each in result.ingested] == list(zip(BOTH_FORMATS, (1, 2), strict=True))
    assert query_database(result.database, "select trace_id, format from trace order by all") == [
        (1, "chrome"),
        (2, "nsys"),
    ]


def test_counts_of_the_result_are_those_of_the_tables(tmp_path):
    result = ingest(BOTH_FORMATS, tmp_path / "t.duckdb")
    for table, counts in [
        ("cpu_slice", [each.cpu_slices for each in result.ingested]),
        ("gpu_slice", [each.gpu_slices for each in result.ingested]),
        ("import_note", [each.notes for each in result.ingested]),
    ]:
        counted = query_database(result.database, f"select count(*) from {table} group by trace_id order by trace_id")
        assert [count for (count,) in counted] == counts


def test_directory_is_searched_to_the_bottom_and_hidden_and_foreign_files_are_passed_over(tmp_path):
    wanted = [trace_file(tmp_path / name) for name in ("a/b/c/deep", "b.json")]
    for hidden in (".hidden.json", ".git/x.json", "a/.ipynb_checkpoints/x.json", "a/._b.json"):
        trace_file(tmp_path / hidden)
    (tmp_path / "notes.txt").write_text("not a trace")
    (tmp_path / "empty.json").touch()
    os.mkfifo(tmp_path / "pipe")
    assert find_all(tmp_path) == wanted


def test_directory_that_is_itself_hidden_is_searched(tmp_path):
    wanted = trace_file(tmp_path / ".cache" / "a.json")
    assert find_all(wanted.parent) == [wanted]


def test_directory_with_an_entry_that_may_not_be_asked(tmp_path, monkeypatch):
    wanted = trace_file(tmp_path / "a.json")
    closed = trace_file(tmp_path / "closed.json")
    is_file = Path.is_file

    def asked(path):
        if path == closed:
            raise PermissionError(13, "Permission denied", str(path))
        return is_file(path)

    monkeypatch.setattr(Path, "is_file", asked)
    assert find_all(tmp_path) == [wanted]


def test_glob(tmp_path):
    wanted = [trace_file(tmp_path / f"rank{rank}" / "a.json", rank) for rank in range(3)]
    (tmp_path / "rank3").mkdir()
    (tmp_path / "rank3" / "a.json").write_text("not a trace")
    assert find_all(f"{tmp_path}/rank*/*.json") == wanted
    assert find_all(f"{tmp_path}/**/a.json") == wanted


def test_file_whose_name_looks_like_a_glob(tmp_path):
    wanted = trace_file(tmp_path / "run[1]*?.json")
    assert find_all(wanted) == [wanted]


def test_file_named_twice_is_read_once(tmp_path):
    source = trace_file(tmp_path / "a.json")
    (tmp_path / "link").symlink_to(source)
    assert find_all(source, tmp_path, f"{tmp_path}/*.json", tmp_path / "link") == [source]


@pytest.mark.parametrize("name", ["nothing", "x" * 300, "a\0b", "dangling", "loop"])
def test_file_that_is_not_there(tmp_path, name):
    (tmp_path / "dangling").symlink_to("gone")
    (tmp_path / "loop").symlink_to("loop")
    assert str(tmp_path / name) in error_of(UnusableTrace, [tmp_path / name], tmp_path / "t.duckdb")


def test_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "write it to a file" in error_of(UnusableTrace, [tmp_path / "pipe"])


def test_nothing_named():
    assert "name trace files" in error_of(NoTraces, [])


def test_name_that_is_not_utf8(tmp_path):
    source = trace_file(Path(os.fsdecode(os.fsencode(tmp_path) + b"/rank\xff.json")))
    database = ingest([source], tmp_path / "t.duckdb").database
    assert query_database(database, "select path from trace") == [(f"{tmp_path}/rank\\xff.json",)]


# Where it goes.


@pytest.mark.parametrize(
    "suffixes", ["", ".json", ".json.gz", ".pt.trace.json", ".pt.trace.json.gz", ".sqlite", ".sqlite.gz", ".db", ".zip"]
)
def test_default_database_of_a_file_is_here_without_the_suffixes_of_traces(tmp_path, suffixes):
    assert locate_files(trace_file(tmp_path / f"run{suffixes}")) == Path("run.duckdb")


@pytest.mark.parametrize(
    ("name", "stem"), [("v1.2.json", "v1.2"), (".json", ".json"), ("run.duckdb", "run.duckdb"), ("a b'c.json", "a b'c")]
)
def test_default_database_keeps_the_rest_of_the_name(tmp_path, name, stem):
    assert locate_files(trace_file(tmp_path / name)) == Path(f"{stem}.duckdb")


def test_default_database_of_a_directory_has_its_name(tmp_path, monkeypatch):
    trace_file(tmp_path / "runs" / "a.json")
    monkeypatch.chdir(tmp_path / "runs")
    assert locate_files(tmp_path / "runs") == locate_files(".") == Path("runs.duckdb")


def test_default_database_of_files_of_one_directory_has_its_name(tmp_path):
    sources = [trace_file(tmp_path / "runs" / name) for name in ("a.json", "b.json")]
    assert locate_files(*sources) == locate_files(f"{tmp_path}/runs/*.json") == Path("runs.duckdb")


def test_default_database_of_files_of_several_directories_is_in_the_current_one(tmp_path):
    assert locate_files(*[trace_file(tmp_path / name / "a.json") for name in "ab"]) == Path("traces.duckdb")


def test_default_database_is_in_the_current_directory(tmp_path, monkeypatch):
    source = trace_file(tmp_path / "archive" / "a.json")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert ingest([source]).database == Path("a.duckdb")
    assert names_in(tmp_path / "here") == ["a.duckdb"]
    assert names_in(tmp_path / "archive") == ["a.json"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_database_where_the_user_may_not_write(tmp_path, source):
    tmp_path.chmod(0o555)
    assert "choose another place" in error_of(StoreError, [source], tmp_path / "t.duckdb")


def test_default_database_gets_the_traces_of_the_same_name_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second = trace_file(tmp_path / "a.json"), trace_file(tmp_path / "a.pt.trace.json", rank=1)
    assert ingest([first]).database == ingest([second]).database
    assert query_database(tmp_path / "a.duckdb", "select count(*) from trace") == [(2,)]


@pytest.mark.slow
@pytest.mark.parametrize("name", [":memory:", "md:x", 'it\'s "a"; b*[c].db'])
def test_database_of_any_name_is_a_file_of_that_name(tmp_path, source, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    ingest([source, trace_file(tmp_path / "sources" / "other.json")], name)
    assert names_in(tmp_path) == sorted([name, "sources"])
    assert query_database(Path(name), "select count(*) from trace") == [(2,)]


def test_database_whose_path_duckdb_misreads(tmp_path, source):
    (tmp_path / "why?").mkdir()
    assert "question mark" in error_of(StoreError, [source], tmp_path / "why?" / "t.duckdb")
    name = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.duckdb"))
    assert "not UTF-8" in error_of(StoreError, [source], name)
    assert names_in(tmp_path) == ["sources", "why?"]


def test_link_to_a_database_stays_a_link(database, source, tmp_path):
    link = tmp_path / "link.duckdb"
    link.symlink_to(database)
    assert ingest([source], link).database == link
    assert link.is_symlink()
    assert query_database(database, "select count(*) from trace") == [(2,)]
    assert names_in(database.parent) == ["t.duckdb"]


def test_permissions_of_a_database_stay(database, source):
    database.chmod(0o600)
    ingest([source], database)
    assert oct(database.stat().st_mode & 0o777) == "0o600"


# What is in it.


def test_run_is_the_name_given(database, source):
    ingest([source], database, run="baseline; it's")
    assert query_database(database, "select trace_id, run from trace order by all") == [
        (1, None),
        (2, "baseline; it's"),
    ]


@pytest.mark.slow
def test_content_decides_what_a_trace_is(tmp_path):
    source = trace_file(tmp_path / "a.json")
    same = shutil.copyfile(source, tmp_path / "b.json")
    other = trace_file(tmp_path / "c.json", rank=1)
    result = ingest([source, same, other], tmp_path / "t.duckdb")
    assert [each.path for each in result.ingested] == [source, other]
    assert result.skipped == (same,)


def test_same_content_again_does_not_touch_the_database(database, tmp_path):
    before = (database.read_bytes(), database.stat())
    renamed = trace_file(tmp_path / "sources" / "renamed.json")
    assert ingest([renamed], database) == IngestResult(database, (), (renamed,))
    assert (database.read_bytes(), database.stat().st_mtime_ns) == (before[0], before[1].st_mtime_ns)


def test_force_replaces_the_rows_and_keeps_the_number(tmp_path):
    sources = [trace_file(tmp_path / f"{rank}.json", rank) for rank in range(3)]
    database = ingest(sources, tmp_path / "t.duckdb").database
    before = read_contents(database)
    result = ingest([sources[1]], database, force=True)
    assert [(each.path, each.trace_id, each.gpu_slices) for each in result.ingested] == [(sources[1], 2, 3)]
    assert read_contents(database) == before


def test_force_is_a_plain_ingest_for_what_is_not_there(database, source):
    result = ingest([source], database, force=True)
    assert [each.trace_id for each in result.ingested] == [2]
    assert query_database(database, "select count(*) from gpu_slice") == [(6,)]


@pytest.mark.sample(2)
@pytest.mark.parametrize("source", BOTH_FORMATS, ids=lambda path: path.name)
def test_reading_the_same_file_again_gives_the_same_tables(tmp_path, source):
    first, second = (ingest([source], tmp_path / name).database for name in ("a.duckdb", "b.duckdb"))
    assert read_contents(first) == read_contents(second)
    assert read_contents(first)["gpu_slice"]


def test_second_trace_leaves_the_first_as_it_was(database):
    before = read_contents(database, but="")
    ingest(BOTH_FORMATS[:1], database)
    assert read_contents(database, trace_id=1, but="") == before
    assert read_contents(database, trace_id=2)["gpu_slice"]


@pytest.mark.slow
def test_trace_is_the_same_alone_and_beside_others(tmp_path):
    alone = read_contents(ingest(BOTH_FORMATS[:1], tmp_path / "a.duckdb").database, trace_id=1)
    beside = read_contents(ingest(BOTH_FORMATS, tmp_path / "b.duckdb").database, trace_id=1)
    assert alone == beside


@pytest.mark.slow
def test_processes_change_nothing(tmp_path, monkeypatch):
    # other processes run all analyses
    monkeypatch.undo()
    ranks = [trace_file(tmp_path / "ranks" / f"{rank}.json", rank, kernels=100 - rank) for rank in range(3)]
    one = ingest([*ranks, BOTH_FORMATS[1]], tmp_path / "one.duckdb", jobs=1)
    four = ingest([*ranks, BOTH_FORMATS[1]], tmp_path / "four.duckdb", jobs=4)
    assert read_contents(one.database) == read_contents(four.database)
    assert one.ingested == four.ingested
    assert names_in(tmp_path) == ["four.duckdb", "one.duckdb", "ranks"]


@pytest.mark.slow
def test_processes_do_not_run_what_lies_in_the_current_directory(tmp_path):
    for name in ("json", "duckdb", "pyarrow", "signal"):
        (tmp_path / f"{name}.py").write_text("open('pwned', 'w')")
    sources = [trace_file(tmp_path / "ranks" / f"{rank}.json", rank) for rank in range(2)]
    main = f"import sys; sys.path[0] = {str(ROOT)!r}; import traceq; traceq.ingest(sys.argv[2:], sys.argv[1], jobs=2)"
    command = [sys.executable, "-c", main, tmp_path / "t.duckdb", *sources]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert "pwned" not in names_in(tmp_path)


def test_tables_of_the_user_are_left_alone(database, source):
    with duckdb.connect(str(database)) as connection:
        connection.execute("create table remark (trace_id integer, said varchar)")
        connection.execute("insert into remark values (1, 'slow')")
        connection.execute("create view mine as select * from trace")
    ingest([source], database)
    ingest([source], database, force=True)
    assert query_database(database, "select * from remark") == [(1, "slow")]
    assert query_database(database, "select count(*) from mine") == [(2,)]


def test_database_open_to_read_in_this_process(database, source):
    with connect(database):
        result = ingest([source], database)
    assert result.ingested[0].gpu_slices == 3
    assert query_database(database, "select count(*) from trace") == [(2,)]


@pytest.mark.parametrize("pattern", ["(", "(?=lookahead)"])
def test_step_range_must_be_a_regular_expression_that_duckdb_knows(source, tmp_path, pattern):
    assert pattern in error_of(QueryError, [source], tmp_path / "t.duckdb", options=TraceOptions(step_range=pattern))


# Progress.


class Told:
    """A Progress that remembers what it was told."""

    def __init__(self):
        self.calls = []
        self.threads = set()

    def _hear(self, *call):
        self.calls.append(call)
        self.threads.add(threading.get_ident())

    def start(self, total_bytes):
        self._hear("start", total_bytes)

    def advance(self, read_bytes, rows):
        self._hear("advance", read_bytes, rows)

    def analyse(self, stage, share):
        self._hear("analyse", stage, share)

    def judge(self):
        self._hear("judge")

    def finish(self):
        self._hear("finish")


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_progress_only_grows_and_is_told_in_the_calling_thread(tmp_path, jobs):
    told = Told()
    ingest(BOTH_FORMATS, tmp_path / "t.duckdb", jobs=jobs, progress=told)
    total = sum(path.stat().st_size for path in BOTH_FORMATS)
    assert told.calls[0] == ("start", total)
    assert told.calls[-1] == ("finish",)
    advances = [call[1:] for call in told.calls if call[0] == "advance"]
    for totals in zip(*advances, strict=True):
        assert list(totals) == sorted(totals)
    assert advances[-1][0] <= total
    shares = [call[2] for call in told.calls if call[0] == "analyse"]
    assert shares == sorted(shares)
    assert not shares or 0 <= shares[0] <= shares[-1] < 1
    assert told.threads == {threading.get_ident()}


@pytest.mark.slow
def test_progress_ends_with_everything_read_and_every_row(tmp_path):
    told = Told()
    ingest(BOTH_FORMATS, tmp_path / "t.duckdb", progress=told)
    _, read_bytes, rows = [call for call in told.calls if call[0] == "advance"][-1]
    assert read_bytes == sum(path.stat().st_size for path in BOTH_FORMATS)
    assert rows >= 2 * (600 + 170)


def test_progress_is_finished_when_the_ingest_fails(tmp_path, source):
    told = Told()
    broken = tmp_path / "broken.json"
    broken.write_text('{"traceEvents": []}')
    error_of(UnusableTrace, [source, broken], tmp_path / "t.duckdb", progress=told)
    assert [call[0] for call in told.calls if call[0] not in ("advance", "analyse")] == ["start", "finish"]


def test_progress_is_not_bothered_when_there_is_nothing_to_do(database, tmp_path):
    told = Told()
    ingest([trace_file(tmp_path / "sources" / "first.json")], database, progress=told)
    assert told.calls == []


def test_progress_that_raises_leaves_nothing(source, tmp_path):
    class Impatient(Told):
        def advance(self, read_bytes, rows):  # noqa: ARG002
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ingest([source], tmp_path / "t.duckdb", progress=Impatient())
    assert names_in(tmp_path) == ["sources"]
