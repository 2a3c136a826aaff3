"""What is added to a dataset, dropped from it and cleared away; and what is said of one that is damaged."""

from __future__ import annotations

import hashlib
import json
import pickle
import shutil
import time
from pathlib import Path

import duckdb
import pytest
from handmade_job import rank_trace
from msgspec.structs import replace

import traceq
from traceq.app.agent_queries import AgentQueries
from traceq.app.dataset import list_dataset, verify_dataset
from traceq.database.connect import list_trusted_places, trust_places
from traceq.dataset import intact
from traceq.dataset.catalogue import create_catalogue
from traceq.dataset.manifest import commit, read_manifest
from traceq.dataset.piece import hash_file, make_piece, read_piece
from traceq.dataset.place import Place, part_of
from traceq.errors import QueryError, SchemaMismatch, StoreError
from traceq.loading.ingest import Failure

FIRST, SECOND = "run=small/window=0", "run=small/window=1"


@pytest.fixture
def job(tmp_path, job_made):
    """A dataset of two windows of four ranks."""
    return Path(shutil.copytree(job_made / "dataset" / "job", tmp_path / "job"))


def files(folder):
    """Every file with its content, but for what says who writes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def rows(job):
    with traceq.open(job) as traces:
        query = "select trace_id, rank, count(*) from trace join kernel using (trace_id) group by all order by all"
        return traces.sql(query).fetchall(), traces.sql(
            "select job, time_window, ranks from job order by all"
        ).fetchall()


def faults(job):
    return [(each.where, each.what) for each in verify_dataset(str(job))[1]]


@pytest.mark.slow
def test_a_late_rank_and_a_new_window_join_and_only_their_windows_are_judged_anew(
    traceq_command, tmp_path, job, job_traces, job_made
):
    before = files(job)
    kept = {name: content for name, content in before.items() if name.startswith(FIRST)}

    dropped = traceq_command("dataset", "drop", job, "--run", "small", "--window", 1, "--rank", 3)
    assert dropped.stdout.splitlines()[0] == f"{job}: run small, window 1: rank 3 dropped"
    assert [(each.ranks, each.is_fresh) for each in list_dataset(str(job)).windows] == [
        ([0, 1, 2, 3], True),
        ([0, 1, 2], True),
    ]
    assert not list((job / SECOND).glob("rank=3/*"))
    assert [each.name for each in (job / SECOND / "job").iterdir()] == ["2"]
    assert rows(job)[1] == [(0, 0, 4), (0, 1, 3)]

    traceq.ingest(job_traces / "window1" / "rank3.json", job, run="small")
    assert {name: content for name, content in files(job).items() if name.startswith(FIRST)} == kept
    assert read_manifest(Place(str(job))).generation == 3
    assert rows(job) == rows(job_made / "database" / "job")
    assert faults(job) == []

    later = tmp_path / "later.json"
    later.write_text(rank_trace(0, {}, 10**18 + 1200 * 10**9))
    second = files(job / SECOND)
    traceq.ingest(later, job, run="small")
    assert {name: content for name, content in files(job).items() if name.startswith(FIRST)} == kept
    assert files(job / SECOND) == second
    assert [(each.window, each.ranks) for each in list_dataset(str(job)).windows][2] == (2, [0])
    assert faults(job) == []


@pytest.mark.slow
def test_a_trace_that_is_replaced_stays_for_those_who_read_it(traceq_command, job, job_traces):
    trace = job_traces / "window1" / "rank3.json"
    with traceq.open(job) as reader:
        query = "select * from gpu_slice where trace_id = 8 order by all"
        before = reader.sql(query).fetchall()
        traceq.ingest(trace, job, run="small", force=True, step_range="nothing is called so")
        assert reader.sql(query).fetchall() == before
        assert reader.sql("select count(*) from job").fetchall() == [(2,)]
    with traceq.open(job) as reader:
        assert reader.sql("select count(*) from step where trace_id = 8 and source = 'annotation'").fetchall() == [(0,)]
    assert (job / SECOND / "rank=3" / "2" / "piece.json").is_file()
    unused = list_dataset(str(job)).unused_bytes
    assert unused > 0
    assert "can be freed: traceq dataset compact" in traceq_command("dataset", "list", job).stdout
    said = traceq_command("dataset", "compact", job).stdout
    assert " files removed, " in said
    assert (list_dataset(str(job)).unused_bytes, faults(job)) == (0, [])
    assert not (job / SECOND / "rank=3" / "piece.json").exists()


@pytest.mark.slow
def test_a_trace_that_is_replaced_keeps_its_run_unless_another_is_named(traceq_command, tmp_path, one_rank, job_traces):
    job = shutil.copytree(one_rank, tmp_path / "job")
    again = ("ingest", job_traces / "window0" / "rank0.json", "--force", "--jobs", 1, "-o", job)
    assert "moved" not in traceq_command(*again).stdout
    assert [(each.run, each.window, each.ranks) for each in list_dataset(str(job)).windows] == [("x", 0, [0])]
    assert traceq_command(*again, "--run", "y").stdout.endswith(", 1 moved from run x\n")
    assert [(each.run, each.window, each.ranks) for each in list_dataset(str(job)).windows] == [("y", 0, [0])]
    with traceq.open(job) as traces:
        assert traces.sql("select run from trace").fetchall() == [("y",)]


@pytest.mark.slow
def test_a_trace_that_cannot_be_replaced_stays(monkeypatch, job, job_traces):
    def failing(tasks, _workers):
        yield tasks[0], make_piece(tasks[0])
        yield tasks[1], Failure(tasks[1].build.source.path, "is how it ends")

    monkeypatch.setattr("traceq.dataset.ingest.run_all", failing)
    both = [job_traces / "window1" / f"rank{rank}.json" for rank in (0, 1)]
    assert len(traceq.ingest(both, job, run="small", force=True).failures) == 1
    assert [each.ranks for each in list_dataset(str(job)).windows] == [[0, 1, 2, 3], [0, 1, 2, 3]]


def test_an_ingest_that_fails_leaves_the_dataset_as_it_was(tmp_path, job):
    before = files(job)
    broken = tmp_path / "rank9.json"
    broken.write_text('{"schemaVersion": 1, "traceEvents": [')
    try:
        failed = traceq.ingest(broken, job, run="small").failures
    except traceq.TraceqError as error:
        failed = [error]
    assert len(failed) == 1
    assert files(job) == before


@pytest.mark.slow
def test_compact_removes_what_is_traceqs_and_leaves_what_an_ingest_can_go_on_with(traceq_command, job):
    piece = json.loads((job / FIRST / "rank=0" / "piece.json").read_text())
    for name, content in (("dead/x.parquet", b"x"), ("alive/x.parquet", b"xyz")):
        path = job / ".pieces" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (job / ".pieces" / "alive" / "piece.json").write_text(json.dumps(piece | {"sha256": "0"}))
    (job / FIRST / "rank=7").mkdir()
    (job / FIRST / "rank=7" / "x.parquet").write_bytes(b"left by a writer that was killed")
    for name in ("dataset.json", "writer.json", "writer-0123456789abcdef.json"):
        part_of(job / name).write_bytes(b"{")
    (job / "writer-0123456789abcdef.json").write_text("{}")
    (job / "notes.txt").write_text("mine")
    (job / "notes.txt.12.part").write_text("mine")
    assert list_dataset(str(job)).unused_bytes == 38
    assert "are left of an ingest that ended early" in traceq_command("dataset", "list", job).stdout
    said = traceq_command("dataset", "compact", job).stdout
    assert f"{job}: 6 files removed, 38 B\nleft: 2 files of an ingest that ended early" in said
    assert not (job / FIRST / "rank=7").exists()
    assert (job / ".pieces" / "alive" / "x.parquet").exists()
    assert "2 files removed" in traceq_command("dataset", "compact", job, "--all").stdout
    assert sorted(path.name for path in job.iterdir()) == [
        "dataset.json",
        "notes.txt",
        "notes.txt.12.part",
        "run=small",
    ]
    assert faults(job) == []


def test_all_of_a_run_can_be_dropped(traceq_command, job):
    wrong = traceq_command("dataset", "drop", job, "--run", "smal")
    assert (wrong.exit_code, "run 'smal' is not there; there are the runs 'small'." in wrong.stderr) == (2, True)
    wrong = traceq_command("dataset", "drop", job, "--run", "small", "--window", 7)
    assert "run 'small', window 7 is not there; there are the windows 0, 1 of the run" in wrong.stderr
    assert traceq_command("dataset", "drop", job, "--run", "small").exit_code == 0
    assert [path.name for path in job.rglob("*") if path.is_file()] == ["dataset.json"]
    assert rows(job) == ([], [])
    told = traceq_command("report", job)
    said = f"traceq: error: {job}: holds no traces; ingest some: traceq ingest SOURCE -o {job}\n"
    assert (told.exit_code, told.stderr) == (1, said)


@pytest.mark.slow
def test_who_reads_what_is_dropped_is_told_to_open_it_again(traceq_command, job):
    with traceq.open(job) as reader:
        traceq_command("dataset", "drop", job, "--run", "small", "--window", 0, "--rank", 1)
        with pytest.raises(QueryError, match="dropped, or lost: open the dataset again"):
            reader.sql("select sum(dur) from gpu_slice").fetchall()
    assert len(rows(job)[0]) == 7


# What misleads in a manifest, done to its content.
_MISLEADING = {
    "no such shape": lambda content: content["pieces"][0].update(shape=9),
    "newer": lambda content: content.update(traceq_dataset=2),
    "older schema": lambda content: content.update(schema=4),
    "pieces twice": lambda content: content["pieces"].extend(content["pieces"][:]),
    "a folder twice": lambda content: content["pieces"][1].update(rank=0),
    "a window twice": lambda content: content["windows"].append(content["windows"][1] | {"job": 7}),
    "a table elsewhere": lambda content: content["shapes"][0].append("../../../../secret"),
    "a job elsewhere": lambda content: content["windows"][0].update(folder="/etc"),
    "a job above": lambda content: content["windows"][0].update(folder=f"{FIRST}/job/../../../../1"),
    "a column missing": lambda content: content["pieces"][2].pop("rank"),
}


def damaged(job, fault):
    """Put a fault into the dataset; a part of what verify says, and of what everything says that needs it."""
    manifest, piece = job / "dataset.json", job / FIRST / "rank=1"
    if fault == "manifest cut off":
        manifest.write_bytes(manifest.read_bytes()[:300])
    elif fault == "foreign manifest":
        manifest.write_text('{"name": "of something else"}')
    elif fault == "a list":
        manifest.write_text("[1, 2]")
    elif fault == "nested":
        manifest.write_text('{"traceq_dataset":' + "[" * 50_000)
    elif fault in _MISLEADING:
        content = json.loads(manifest.read_text())
        _MISLEADING[fault](content)
        manifest.write_text(json.dumps(content))
    elif fault == "piece missing":
        shutil.rmtree(piece)
    elif fault == "file cut off":
        path = piece / "gpu_slice.parquet"
        path.write_bytes(path.read_bytes()[:-100])


@pytest.mark.parametrize(
    ("fault", "error", "message"),
    [
        ("manifest cut off", StoreError, "dataset.json is damaged, or not written by traceq: .*; restore it"),
        ("foreign manifest", StoreError, "dataset.json is damaged, or not written by traceq: .*traceq_dataset"),
        ("a list", StoreError, "dataset.json is damaged, or not written by traceq: "),
        ("nested", StoreError, "dataset.json is damaged, or not written by traceq: "),
        ("no such shape", StoreError, "dataset.json is damaged, or not written by traceq: a piece has a shape"),
        (
            "pieces twice",
            StoreError,
            "job: dataset.json is damaged.*: trace 1 is listed twice; restore it, or",
        ),
        ("a folder twice", StoreError, f"dataset.json is damaged.*: {FIRST}/rank=0 is listed twice; "),
        ("a window twice", StoreError, f"dataset.json is damaged.*: {SECOND} is listed twice; "),
        ("a table elsewhere", StoreError, r"dataset.json is damaged.*: no table is called '../../../../secret'; "),
        ("a job elsewhere", StoreError, f"dataset.json is damaged.*: '/etc' is not a folder of {FIRST}/job; "),
        ("a job above", StoreError, f"dataset.json is damaged.*/1' is not a folder of {FIRST}/job; "),
        (
            "a column missing",
            StoreError,
            r"dataset.json is damaged.*missing required field `rank` - at `\$.pieces\[2\]`; ",
        ),
        ("newer", SchemaMismatch, "a dataset of version 2 with schema version 5, .*; upgrade traceq"),
        ("older schema", SchemaMismatch, "schema version 4, .*; ingest the traces again, into a new dataset"),
        ("piece missing", StoreError, "window=0/rank=1/piece.json is missing, .*; traceq ingest --force TRACE "),
        ("file cut off", duckdb.Error, "window=0/rank=1/gpu_slice.parquet"),
    ],
)
def test_damage_is_named_with_the_way_out(traceq_command, job, job_traces, fault, error, message):
    damaged(job, fault)
    whole = fault not in ("piece missing", "file cut off")
    with pytest.raises(error, match=message), traceq.open(job) as traces:
        traces.sql("select sum(dur) from gpu_slice").fetchall()
    commands = [("report", job), ("sql", job, "select sum(dur) from gpu_slice"), ("dataset", "compact", job)]
    commands += [("ingest", job_traces / "window0" / "rank0.json", "-o", job)] if whole else []
    for command in commands[:2] if not whole else commands:
        found = traceq_command(*command)
        assert (found.exit_code, found.stderr.startswith("traceq: error: ")) == (1, True), (found.output, command)
        assert found.stderr.count("\n") == 1
        assert "rank=1" in found.stderr or "dataset.json" in found.stderr or "version" in found.stderr


@pytest.mark.parametrize("change", ["forgotten", "of other ranks"])
def test_a_job_that_is_not_made_of_its_ranks_is_not_reported_but_judged_anew(traceq_command, job, change):
    manifest = job / "dataset.json"
    content = json.loads(manifest.read_text())
    if change == "forgotten":
        del content["windows"][1]
    else:
        content["windows"][1]["made_of"] = content["windows"][0]["made_of"]
    manifest.write_text(json.dumps(content))
    said = (
        f"traceq: error: {job}: the results on the job in {SECOND} were made from other ranks than it has now;"
        f" traceq dataset compact {job} judges them again\n"
    )
    for command in (("report", job), ("sql", job, "from job")):
        found = traceq_command(*command)
        assert (found.exit_code, found.stderr) == (1, said)
    assert f"{job}: run small, window 1: judged again" in traceq_command("dataset", "compact", job).stdout
    with traceq.open(job) as traces:
        assert traces.sql("select time_window, ranks from job order by all").fetchall() == [(0, 4), (1, 4)]


def invert(path):
    """Invert 40 bytes in the middle of a file, as a bad disk may: of most pages DuckDB notices nothing."""
    content = bytearray(path.read_bytes())
    middle = len(content) // 3
    content[middle : middle + 40] = bytes(255 - byte for byte in content[middle : middle + 40])
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("file", "other", "way_out"),
    [
        (
            f"{FIRST}/rank=1/gpu_slice",
            "unit",
            "traceq ingest --force TRACE -o JOB, or without the trace traceq dataset drop",
        ),
        (f"{FIRST}/job/1/job_rank", "", "traceq dataset compact JOB judges its ranks again"),
    ],
)
def test_a_damaged_file_is_named_before_it_is_read(traceq_command, tmp_path, job, job_traces, file, other, way_out):
    invert(job / f"{file}.parquet")
    table = file.rpartition("/")[2]
    trace = str(job_traces / "window0" / "rank1.json")
    said = f"{file}.parquet is damaged: its content is not what was written; "
    said += way_out.replace("TRACE", trace).replace("JOB", str(job))
    for command in (
        ("report", job, "--rank", 1),
        ("sql", job, f"select count(*) from {table}"),
        ("export", job, "--table", "job_rank" if other == "" else table, "-o", tmp_path / "t.csv"),
        ("doctor", job),
        *([("convert", job, "-o", tmp_path / "c.duckdb")] if other else []),
    ):
        found = traceq_command(*command)
        assert (found.exit_code, found.stderr.startswith("traceq: error: ")) == (1, True), (command, found.output)
        assert said in found.stderr, command
        assert found.stderr.count("\n") == 1
    if other:  # whose files are sound
        assert traceq_command("sql", job, f"select count(*) from {other}").exit_code == 0
    assert [file in each.where + each.what for each in verify_dataset(str(job))[1]] == [True]


def test_a_piece_of_another_dataset_is_named(traceq_command, job, one_rank):
    shutil.rmtree(job / FIRST / "rank=2")
    shutil.copytree(one_rank / "run=x/window=0/rank=0", job / FIRST / "rank=2")
    found = traceq_command("report", job, "--rank", 2)
    said = f"{FIRST}/rank=2/piece.json has another trace_id, run, sha256, digest than {job} lists: it belongs to another trace"
    assert (found.exit_code, said in found.stderr) == (1, True), found.stderr


def test_a_piece_behind_a_link_is_not_read(traceq_command, tmp_path, job):
    for link in (f"{FIRST}/rank=1/gpu_slice.parquet", f"{FIRST}/rank=2"):
        elsewhere = tmp_path / str(hash(link))
        (job / link).rename(elsewhere)
        (job / link).symlink_to(elsewhere)
        found = traceq_command("report", job, "--rank", link.partition("rank=")[2][0])
        assert (found.exit_code, f"{job}/{link} is a link, which may lead out" in found.stderr) == (1, True), (
            found.stderr
        )


@pytest.mark.parametrize("link", [f"{FIRST}/rank=1", FIRST, "run=small", f"{FIRST}/rank=0/step.parquet"])
def test_a_query_says_what_is_a_link(traceq_command, tmp_path, job, link):
    (job / link).rename(tmp_path / "elsewhere")
    (job / link).symlink_to(tmp_path / "elsewhere")
    found = traceq_command("sql", job, "select count(*) from step")
    assert (found.exit_code, f"{job}/{link} is a link, which may lead out" in found.stderr) == (1, True), found.stderr


def test_a_process_reads_the_files_of_a_dataset_once_and_again_after_they_changed(monkeypatch, job):
    place, read = Place(str(job)), []
    monkeypatch.setattr(intact, "hash_file", lambda path: read.append(path.name) or hash_file(path))
    monkeypatch.setattr(intact, "read_piece", lambda place, folder: read.append(folder) or read_piece(place, folder))
    manifest = read_manifest(place)
    sent = pickle.dumps(intact.check_files(place, manifest, manifest.pieces, manifest.windows))

    def ask(table):
        """Ask as the process of queries does, which is sent the check with each query."""
        return pickle.loads(sent)(table)  # noqa: S301 - our own

    ranks = [piece.folder for piece in manifest.pieces]
    assert ask("step")
    assert read == [name for rank in ranks for name in (rank, "step.parquet")]
    for table, expected in (("step", []), ("gpu_slice", ["gpu_slice.parquet"] * len(ranks))):
        read.clear()
        assert ask(table)
        assert read == expected
    path = job / FIRST / "rank=1" / "step.parquet"
    path.write_bytes(path.read_bytes()[::-1])
    for _ in range(2):
        with pytest.raises(StoreError, match=r"rank=1/step\.parquet is damaged"):
            ask("step")


def test_the_time_in_which_files_are_checked_is_not_that_of_the_query(tmp_path, job, monkeypatch):
    monkeypatch.setattr("traceq.app.agent_queries._GRACE", 1.0)
    place, database = Place(str(job)), tmp_path / "job.duckdb"
    manifest = read_manifest(place)
    create_catalogue(database, place, manifest, manifest.pieces)
    trust_places(database, list_trusted_places(database), check_slowly)
    queries = AgentQueries()
    try:
        assert queries.run_query(database, "select count(*) > 0 as n from step", 1, 2.0) == (["n"], [[True]])
    finally:
        queries.close()


def check_slowly(_table):
    """Take longer than a query may, as large files do."""
    time.sleep(4)
    return True


def test_a_dataset_from_before_there_were_digests_is_read(traceq_command, job):
    before = rows(job)
    for record in job.rglob("piece.json"):
        content = json.loads(record.read_text())
        del content["files"]
        record.write_text(json.dumps(content))
    content = json.loads((job / "dataset.json").read_text())
    for window in content["windows"]:
        del window["files"]
    (job / "dataset.json").write_text(json.dumps(content))
    assert (rows(job), faults(job)) == (before, [])
    assert traceq_command("report", job).exit_code == 0


@pytest.mark.slow
def test_verify_names_each_fault_and_its_ways_out(traceq_command, job):
    assert traceq_command("dataset", "verify", job).stdout == f"{job}: 8 traces, 0 faults\n"
    (job / FIRST / "rank=0" / "piece.json").unlink()
    damaged(job, "piece missing")
    swapped = [job / SECOND / f"rank={rank}" / "step.parquet" for rank in (0, 1)]
    other = swapped[1].read_bytes()
    swapped[0].write_bytes(other)
    made = job / SECOND / "rank=3" / "piece.json"
    made.write_text(made.read_text().replace('"digest": "', '"digest": "0'))
    (job / SECOND / "job" / "1" / "job.parquet").write_bytes(b"PAR1")
    (job / FIRST / "job" / "1" / "job_rank.parquet").unlink()
    found = traceq_command("dataset", "verify", job)
    assert found.exit_code == 3
    lines = found.stdout.splitlines()
    assert lines[0].startswith(f"{FIRST}/rank=0/piece.json: is missing; traceq ingest --force TRACE -o ")
    assert lines[1].startswith(f"{FIRST}/rank=1: is missing; ")
    assert lines[1].endswith(f"traceq dataset drop {job} --run small --window 0 --rank 1")
    assert lines[2].startswith(f"{SECOND}/rank=3/piece.json: has another digest than ")
    assert lines[3].startswith(f"{SECOND}/rank=0: ")
    assert lines[4].startswith(f"{FIRST}: the results on its job were made from other ranks than it has now; ")
    assert lines[5].startswith(f"{SECOND}/job/1: cannot be read: ")
    assert lines[5].endswith(f"traceq dataset compact {job} judges its ranks again")
    assert lines[6:] == [f"{job}: 8 traces, 6 faults"]
    listed = json.loads(traceq_command("dataset", "verify", job, "--format", "json").stdout)
    assert [each["where"] for each in listed["faults"]] == [line.split(": ")[0] for line in lines[:6]]


@pytest.mark.slow
def test_damaged_jobs_are_worked_out_anew(traceq_command, job):
    before = rows(job)
    (job / SECOND / "job" / "1" / "job.parquet").write_bytes(b"PAR1")
    (job / FIRST / "job" / "1" / "job_rank.parquet").unlink()
    assert [each.is_fresh for each in list_dataset(str(job)).windows] == [False, True]
    said = traceq_command("dataset", "compact", job).stdout
    assert f"{job}: run small, window 0: judged again\n{job}: run small, window 1: judged again\n" in said
    assert (rows(job), faults(job)) == (before, [])


@pytest.fixture
def counted_dataset(tmp_path, one_rank):
    """A dataset with rank 0 of the run x, as made before steps had the program's numbers."""
    job = Path(shutil.copytree(one_rank, tmp_path / "counted"))
    manifest = json.loads((job / "dataset.json").read_text())
    assert manifest.pop("step_numbering") == 1
    (job / "dataset.json").write_text(json.dumps(manifest))
    return job


def test_a_dataset_with_other_step_numbers_takes_no_new_rank(counted_dataset, job_traces):
    before = files(counted_dataset)
    with pytest.raises(StoreError, match=r"counted: made by an older traceq, .* ingest all traces again"):
        traceq.ingest(job_traces / "window0" / "rank1.json", counted_dataset, run="x")
    with pytest.raises(StoreError, match="numbered steps differently"):
        traceq.convert(counted_dataset, counted_dataset.with_name("job.duckdb"))
    after = files(counted_dataset)
    assert {name: after[name] for name in before} == before
    assert not counted_dataset.with_name("job.duckdb").exists()


def test_a_dataset_with_other_step_numbers_takes_ranks_once_all_of_its_traces_are_replaced(counted_dataset, job_traces):
    rank = job_traces / "window0" / "rank0.json"
    assert traceq.ingest(rank, counted_dataset, run="x").skipped == (rank,)
    assert read_manifest(Place(str(counted_dataset))).step_numbering == 0
    traceq.ingest(rank, counted_dataset, run="x", force=True)
    assert read_manifest(Place(str(counted_dataset))).step_numbering == 1
    traceq.ingest(job_traces / "window0" / "rank1.json", counted_dataset, run="x")
    assert [window.ranks for window in list_dataset(str(counted_dataset)).windows] == [[0, 1]]


def test_a_dataset_in_which_one_trace_cannot_be_replaced_keeps_its_numbering(tmp_path, counted_dataset, job_traces):
    """The trace that failed kept its former steps, in a dataset that said to have none of them."""
    second = shutil.copy(job_traces / "window0" / "rank1.json", tmp_path)
    manifest = read_manifest(Place(str(counted_dataset)))
    kept = replace(manifest.pieces[0], trace_id=9, rank=9, sha256=hashlib.sha256(Path(second).read_bytes()).hexdigest())
    place = Place(str(counted_dataset))
    commit(place, manifest, [*manifest.pieces, kept], manifest.windows, manifest.shapes)
    Path(second).write_text('{"traceEvents": []}')
    before = (counted_dataset / "dataset.json").read_bytes()
    with pytest.raises(StoreError, match="numbered steps differently"):
        traceq.ingest([job_traces / "window0" / "rank0.json", second], counted_dataset, run="x", force=True)
    assert (counted_dataset / "dataset.json").read_bytes() == before


def test_dropping_and_compacting_do_not_renumber_steps(traceq_command, counted_dataset):
    traceq_command("dataset", "compact", counted_dataset)
    (counted_dataset / "run=x" / "window=0" / "job").rename(counted_dataset / "gone")
    assert "judged again" in traceq_command("dataset", "compact", counted_dataset).stdout
    assert read_manifest(Place(str(counted_dataset))).step_numbering == 0
