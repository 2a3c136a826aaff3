"""Datasets in an object store: on an S3-compatible server of this machine, read through fsspec, and as safe as a folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import duckdb
import pytest

import traceq
from traceq.app.open import open_locked
from traceq.database.connect import connect
from traceq.database.user_sql import one_line_errors, run
from traceq.dataset.catalogue import create_catalogue
from traceq.dataset.manifest import read_manifest
from traceq.dataset.place import Place
from traceq.errors import QueryError, StoreError, WrongUse

RANKS = "select rank, count(*) from trace join gpu_slice using (trace_id) group by all order by all"


def command(*arguments, **environment):
    """Run `python -m traceq`; return what it prints, and its exit status."""
    # nanobind complains on stderr of what lives until the interpreter ends
    done = subprocess.run(
        [sys.executable, "-m", "traceq", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    return done.stdout + done.stderr, done.returncode


@pytest.fixture(scope="module")
def written(server, two_windows):
    """The address of a dataset with two windows of a job; do not change it."""
    import s3fs

    s3fs.S3FileSystem().mkdir("written")
    server.fill("s3://written/some/job", two_windows)
    return "s3://written/some/job"


@pytest.fixture
def alone(server, bucket, one_rank):
    """The address of a dataset with one rank."""
    server.fill(f"{bucket}/job", one_rank)
    return f"{bucket}/job"


@pytest.fixture
def traced(job_traces):
    """A trace of a rank."""
    return job_traces / "window0" / "rank0.json"


def objects(address):
    import s3fs

    fs = s3fs.S3FileSystem()
    fs.invalidate_cache()
    return {path: fs.cat_file(path) for path in fs.find(address)}


@pytest.mark.slow
def test_every_table_and_view_has_the_same_rows(written, two_windows):
    with traceq.open(written) as remote, traceq.open(two_windows) as local:
        listed = "select table_name from information_schema.tables where table_name not in ('finding') order by all"
        for (name,) in local.sql(listed).fetchall():
            query = f"select * {'exclude (ingested_at)' if name == 'trace' else ''} from {name} order by all"
            assert remote.sql(query).fetchall() == local.sql(query).fetchall(), name


@pytest.mark.slow
def test_commands_take_it_like_a_database(written, two_windows):
    assert command("sql", written, RANKS) == command("sql", two_windows, RANKS)
    report, status = command("report", written)
    assert (report.replace(written, str(two_windows)), status) == command("report", two_windows)
    assert "Job a run: 4 of 4 ranks" in report


@pytest.mark.slow
def test_it_is_written_and_appended_to(bucket, job_traces, two_windows):
    for window in ("window0", "window1"):
        said, status = command("ingest", job_traces / window, "-o", f"{bucket}/job", "--run", "a run", "--jobs", 2)
        assert (said, status) == (f"{bucket}/job: 4 traces, 192 GPU slices, 240 host slices, 4 notes\n", 0)
    there, here = read_manifest(Place(f"{bucket}/job")), read_manifest(Place(str(two_windows)))
    assert {(each.window, each.rank, each.sha256): each.digest for each in there.pieces} == {
        (each.window, each.rank, each.sha256): each.digest for each in here.pieces
    }
    with traceq.open(f"{bucket}/job") as remote, traceq.open(two_windows) as local:
        assert remote.sql("from straggler").fetchall() == local.sql("from straggler").fetchall()
    assert not any(".pieces" in path or path.endswith("writer.json") for path in objects(bucket))


@pytest.mark.slow
def test_it_is_dropped_from_cleared_and_verified(server, bucket, two_windows, job_traces, traceq_command):
    import s3fs

    job, window = f"{bucket}/job", f"{bucket}/job/run=a run/window=1"
    server.fill(job, two_windows)
    dropped = traceq_command("dataset", "drop", job, "--run", "a run", "--window", 1, "--rank", 3)
    assert dropped.stdout.splitlines()[0] == f"{job}: run a run, window 1: rank 3 dropped"
    assert not any("/window=1/rank=3/" in path for path in objects(job))
    traceq.ingest(job_traces / "window1" / "rank2.json", job, run="a run", force=True)
    before = objects(job)
    compacted = traceq_command("dataset", "compact", job).stdout
    removed = before.keys() - objects(job).keys()
    # the piece that was replaced, and what was judged with it
    assert {path.split("/")[-2] for path in removed} == {"rank=2", "2"}
    assert compacted.startswith(f"{job}: {len(removed)} files removed, ")
    assert traceq_command("dataset", "verify", job).stdout == f"{job}: 7 traces, 0 faults\n"
    s3fs.S3FileSystem().rm(f"{window}/rank=1/step.parquet")
    faulty = traceq_command("dataset", "verify", job)
    assert (faulty.exit_code, "rank=1/step.parquet" in faulty.stdout) == (3, True)


@pytest.mark.slow
def test_what_is_there_is_not_read_again(alone, traced, server):
    result = traceq.ingest(traced, alone, run="x")
    assert (len(result.ingested), len(result.skipped)) == (0, 1)
    assert server.counted() == {"DELETE": 1, "GET": 2, "PUT": 1}


@pytest.mark.slow
def test_a_place_without_a_dataset_is_told(bucket):
    said = f"traceq: error: {bucket}/none: there is no dataset; make one with: traceq ingest SOURCE -o {bucket}/none\n"
    for arguments in (("sql", f"{bucket}/none", "from trace"), ("report", f"{bucket}/none")):
        assert command(*arguments) == (said, 1)
    with pytest.raises(StoreError, match="there is no dataset"):
        traceq.open(f"{bucket}/none")


def test_a_bucket_that_is_not_there_is_told_and_not_made(server, traced):
    with pytest.raises(StoreError, match=r"^s3://nobody/job: .*bucket"):
        traceq.ingest(traced, "s3://nobody/job")
    assert not any(each.startswith("PUT /nobody ") or each == "PUT /nobody" for each in server.asked)


# ---- who may read what


OUTSIDE = [
    "s3://written/some/job2/secret.parquet",
    "s3://written/some/job/trace.parquet",
    "dataset:///../job2/secret.parquet",
    "dataset:///run=x/../../job2/secret.parquet",
    "dataset:///./../job2/secret.parquet",
    "dataset:////written/some/job2/secret.parquet",
    "dataset://written/some/job2/secret.parquet",
    "dataset:///%2e%2e/job2/secret.parquet",
    "dataset:///../job2/*.parquet",
    "dataset:///**",
    "s3a://written/some/job2/secret.parquet",
    "{local}",
    "file://{local}",
    "file:{local}",
    "{folder}/*.parquet",
]


@pytest.fixture
def local(tmp_path):
    """A file of this machine that no query may read."""
    path = tmp_path / "secret.parquet"
    duckdb.sql("select 42 as secret").write_parquet(str(path))
    return path


@pytest.fixture(scope="module")
def closed(written, two_windows):
    """Connections for SQL typed by anybody, to the dataset in the store and to the folder."""
    with open_locked(written) as store, open_locked(two_windows) as folder:
        yield {"store": store, "folder": folder}


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", OUTSIDE)
def test_a_query_reads_the_dataset_and_nothing_else(closed, local, name):
    import s3fs

    s3fs.S3FileSystem().put_file(str(local), "written/some/job2/secret.parquet")
    path = name.format(local=local, folder=local.parent)
    for connection in closed.values():
        assert run(connection, "select count(*) from trace").fetchall() == [(8,)]
        for function in ("read_parquet", "read_blob", "read_text", "read_csv", "glob"):
            if function == "glob" and path.startswith("dataset:///"):
                continue  # names are not looked up: what it gives is what it got
            told = "reads its (dataset|database) and nothing else|key does not exist"
            with pytest.raises(QueryError, match=told), one_line_errors():
                run(connection, f"from {function}('{path}')").fetchall()


WRITES = [
    "copy (select 1) to '{place}/evil.csv'",
    "copy (select 1) to '{place}' (format parquet, per_thread_output)",
    "copy trace to '{place}/run=a run/window=0/rank=0/trace.parquet'",
    "export database '{place}/evil'",
    "attach '{place}/evil.duckdb' as evil",
    "explain analyze copy (select 1) to '{place}/evil.csv'",
    "prepare p as copy (select 1) to '{place}/evil.csv'; execute p",
    "call enable_logging(storage = 'file', storage_path = '{place}/log')",
    "call enable_profiling(save_location = '{place}/log.json')",
    "load httpfs",
    "install httpfs",
    "set autoload_known_extensions = true",
    "create secret (type s3)",
]


@pytest.mark.sample(16)
@pytest.mark.parametrize("query", WRITES)
@pytest.mark.parametrize("where", ["store", "folder"])
def test_a_query_writes_nothing(closed, two_windows, query, where):
    def all_files():
        return objects("written") if where == "store" else sorted(two_windows.rglob("*"))

    before = all_files()
    with pytest.raises(QueryError), one_line_errors():
        run(closed[where], query.format(place="dataset://" if where == "store" else two_windows)).fetchall()
    assert all_files() == before


@pytest.mark.parametrize(
    "query",
    [
        "explain analyze select count(*) from trace",
        "EXPLAIN (format json) /* copy */ from trace",
        "(select 1) union all (select 2)",
        "pivot trace on rank using count(*)",
        "summarize trace",
        "set variable wanted = 1; select count(*) from trace where rank = getvariable('wanted')",
        "create temp table mine as from trace; from mine; drop table mine; show tables",
        "with copy as (select 1) from copy",
    ],
)
def test_a_query_may_do_all_else(closed, query):
    for connection in closed.values():
        assert run(connection, query).fetchall()


@pytest.mark.slow
def test_no_extension_is_loaded_even_where_it_is_installed(written, tmp_path):
    # a file that DuckDB would complain of if it tried to load it
    version, platform = duckdb.sql("select version(), (from pragma_platform())").fetchall()[0]
    place = tmp_path / ".duckdb" / "extensions" / version / platform / "httpfs.duckdb_extension"
    place.parent.mkdir(parents=True)
    place.write_bytes(b"no extension" * 1000)
    assert command("sql", written, "select count(*) as traces from trace", HOME=str(tmp_path)) == (
        "traces\n------\n     8\n",
        0,
    )
    said, status = command("sql", written, "from 's3://written/some/job2/secret.parquet'", HOME=str(tmp_path))
    assert status == 1
    assert "httpfs.duckdb_extension" not in said
    script = f"import traceq; traceq.open({written!r}).sql(\"from 's3://written/x.parquet'\")"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert "httpfs.duckdb_extension" not in done.stderr
    assert "QueryError" in done.stderr


# ---- credentials


@pytest.mark.slow
def test_credentials_of_fsspec_are_used_and_stand_nowhere(bucket, traced, tmp_path, monkeypatch, server):
    settings = tmp_path / "fsspec"
    settings.mkdir()
    (settings / "conf.json").write_text(
        json.dumps({"s3": {"key": "AKIAOFFSPEC", "secret": "topsecret", "endpoint_url": server.url}})
    )
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name)
    said, status = command("ingest", traced, "-o", f"{bucket}/job", FSSPEC_CONFIG_DIR=str(settings))
    assert status == 0, said
    given = {"FSSPEC_S3_KEY": "AKIAOFFSPEC", "FSSPEC_S3_SECRET": "topsecret", "FSSPEC_S3_ENDPOINT_URL": server.url}
    shown, status = command("sql", f"{bucket}/job", "from trace", **given)
    assert status == 0, shown
    for content in [*objects(bucket).values(), said.encode(), shown.encode()]:
        assert b"topsecret" not in content
        assert b"AKIA" not in content


def test_credentials_are_in_no_catalogue(written, tmp_path):
    place = Place(written)
    manifest = read_manifest(place)
    create_catalogue(tmp_path / "c.duckdb", place, manifest, manifest.pieces)
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"dataset:///" in content
    assert b"verysecret" not in content
    assert b"AKIAVISIBLE" not in content
    connect(tmp_path / "c.duckdb").close()


@pytest.mark.slow
def test_an_address_with_credentials_is_refused(traced):
    for arguments in (
        ("sql", "s3://AKIAHIDDEN:hidden@written/some/job", "from trace"),
        ("report", "s3://AKIAHIDDEN:hidden@written/some/job"),
        ("ingest", traced, "-o", "s3://AKIAHIDDEN:hidden@written/some/job"),
        ("report", "s3://written/some/job?X-Amz-Signature=hidden"),
    ):
        said, status = command(*arguments)
        assert status == 1, said
        assert "s3://written/some/job: holds credentials" in said
        assert "hidden" not in said.lower().replace("x-amz", "")


# ---- what goes wrong


@pytest.mark.slow
def test_a_copy_that_fails_leaves_a_piece_that_is_added_later(bucket, traced, server):
    copies = []

    def refuse(environ):
        if "HTTP_X_AMZ_COPY_SOURCE" in environ:
            copies.append(environ["PATH_INFO"])
            return "403 AccessDenied" if len(copies) > 5 else None
        return None

    server.change = refuse
    with pytest.raises(StoreError, match=rf"^{bucket}/job: .*AccessDenied"):
        traceq.ingest(traced, f"{bucket}/job", run="x")
    left = objects(bucket)
    assert not any(path.endswith(("dataset.json", "writer.json")) for path in left)
    assert not any("/rank=0/piece.json" in path for path in left)
    server.change = None
    result = traceq.ingest(traced, f"{bucket}/job", run="x")
    assert (len(result.ingested), result.resumed) == (1, 1)
    assert not any(".pieces" in path for path in objects(bucket))
    with traceq.open(f"{bucket}/job") as traces:
        assert traces.sql(RANKS).fetchall() == [(0, 48)]


@pytest.mark.slow
def test_a_move_that_breaks_off_before_it_removes_is_done_again(bucket, traced, server):
    server.change = lambda environ: "403 AccessDenied" if "delete" in environ["QUERY_STRING"] else None
    with pytest.raises(StoreError, match="AccessDenied"):
        traceq.ingest(traced, f"{bucket}/job", run="x")
    server.change = None
    assert traceq.ingest(traced, f"{bucket}/job", run="x").resumed == 1
    assert not any(".pieces" in path for path in objects(bucket))


@pytest.mark.sample(3)
@pytest.mark.slow
@pytest.mark.parametrize("part", ["dataset.json", "/job.parquet", "/trace.parquet"])
def test_a_write_that_fails_leaves_the_dataset_as_it_was(alone, job_traces, server, part):
    before = read_manifest(Place(alone))
    server.change = lambda environ: (
        "403 AccessDenied" if environ["REQUEST_METHOD"] == "PUT" and environ["PATH_INFO"].endswith(part) else None
    )
    late = job_traces / "window0" / "rank1.json"
    if part == "/trace.parquet":
        assert "AccessDenied" in traceq.ingest(late, alone, run="x").failures[0].reason
    else:
        with pytest.raises(StoreError, match=rf"^{alone}: .*AccessDenied"):
            traceq.ingest(late, alone, run="x")
    server.change = None
    assert read_manifest(Place(alone)) == before
    with traceq.open(alone) as traces:
        assert traces.sql(RANKS).fetchall() == [(0, 48)]
    traceq.ingest(late, alone, run="x")
    with traceq.open(alone) as traces:
        assert traces.sql(RANKS).fetchall() == [(0, 48), (1, 48)]


def test_a_server_that_is_gone_is_told(monkeypatch, written):
    import s3fs

    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    s3fs.S3FileSystem.clear_instance_cache()
    try:
        with pytest.raises(StoreError, match=rf"^{written}: .*127\.0\.0\.1:9"):
            traceq.open(written)
    finally:
        s3fs.S3FileSystem.clear_instance_cache()


def test_a_server_that_goes_while_it_is_read_is_told(server, written):
    with traceq.open(written) as traces:
        server.change = lambda _environ: "403 AccessDenied"
        try:
            with pytest.raises(QueryError, match=rf"{written}: .*"):
                traces.sql("select sum(dur) from gpu_slice").fetchall()
            with pytest.raises(StoreError, match=rf"^{written}: "):
                traces.report()
        finally:
            server.change = None


def test_a_store_that_ignores_conditions_has_one_writer_all_the_same(bucket, server):
    from traceq.dataset import lock

    def forget(environ):
        environ.pop("HTTP_IF_NONE_MATCH", None)

    server.change = forget
    place = Place(f"{bucket}/job")
    with lock.lock_for_writing(place) as first, lock.lock_for_writing(place) as second:
        second()
        with pytest.raises(StoreError, match="another process has taken over"):
            first()


def test_a_store_that_knows_no_conditions_is_written(bucket, server):
    server.change = lambda environ: "501 NotImplemented" if "HTTP_IF_NONE_MATCH" in environ else None
    place = Place(f"{bucket}/job")
    place.write(b"1", "new.json", is_new=True)
    with pytest.raises(FileExistsError):
        place.write(b"2", "new.json", is_new=True)


# ---- memory


@pytest.mark.slow
def test_memory_holds_a_dataset_of_one_process(job_traces):
    trace = job_traces / "window0"
    trace = job_traces / "window0"
    traceq.ingest(trace, "memory://held/job", run="x")
    with traceq.open("memory://held/job") as traces:
        assert traces.sql(RANKS).fetchall() == [(rank, 48) for rank in range(4)]


def test_memory_is_refused_where_other_processes_would_write(job_traces):
    with pytest.raises(WrongUse, match=r"^memory://other/job cannot be shared between processes"):
        traceq.ingest(job_traces / "window0", "memory://other/job", jobs=2)
    assert Place("memory://other/job").list_names() == []


# ---- names


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", ["a b", "100%", "we[ird]*", "#1", "å-日本", "it's"])
@pytest.mark.parametrize("where", ["store", "folder"])
def test_places_have_names_of_all_kinds(request, tmp_path, one_rank, name, where):
    if where == "store":
        target = f"{request.getfixturevalue('bucket')}/{name}/job"
        request.getfixturevalue("server").fill(target, one_rank)
    else:
        target = tmp_path / name / "job"
        shutil.copytree(one_rank, target)
    with traceq.open(target) as traces:
        assert traces.sql(RANKS).fetchall() == [(0, 48)]
    with open_locked(target) as connection:
        assert run(connection, RANKS).fetchall() == [(0, 48)]


@pytest.mark.slow
def test_a_run_has_any_name(bucket, traced):
    traceq.ingest(traced, f"{bucket}/we[ird]*/job", run="a/b?c=1#%å *")
    with traceq.open(f"{bucket}/we[ird]*/job") as traces:
        assert traces.sql("select run, rank from trace").fetchall() == [("a/b?c=1#%å *", 0)]
    assert not any(".pieces" in path for path in objects(bucket))
