"""An ingest happens or does not: whatever stops it, no new database appears and an old one stays as it was."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager, suppress

import duckdb
import pytest
from small_traces import error_of, ingest, names_in, query_database, start_child, trace_file

from traceq.common.owner import is_gone, owner_word
from traceq.common.scratch import temporary_folder
from traceq.database import publish
from traceq.database.connect import SCHEMA_VERSION
from traceq.errors import SchemaMismatch, StoreError, UnusableTrace
from traceq.loading import sources
from traceq.loading.sources import find_sources

INGEST = "ingest(sys.argv[2:], sys.argv[1])"
KILLS = 13  # of each of two tests
SIZES = "select table_name, estimated_size from duckdb_tables() order by all"


def has_traces(database, count):
    return query_database(database, "select count(*) from trace") == [(count,)]


# Importing takes longer than ingesting, and so does working out the schema: one process does both, and forks for each ingest
# (argv[1] into the line read).
FORKING = """
import os
from traceq.analysis import order
from traceq.database.empty import _empty_database
order.TOPICS = ()
_empty_database()
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        try:
            ingest(sys.argv[1:], line.strip())
            os._exit(0)
        finally:
            os._exit(1)
    print(pid, flush=True)
    print(os.waitpid(pid, 0)[1], flush=True)
"""


def ingest_and_kill(forking, database, seconds):
    """Let a fork ingest into the database and kill it after so many seconds; returns its wait status."""
    forking.stdin.write(f"{database}\n")
    forking.stdin.flush()
    pid = int(forking.stdout.readline())
    time.sleep(seconds)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    return int(forking.stdout.readline())


def duration_of_ingest(forking, database):
    begin = time.monotonic()
    forking.stdin.write(f"{database}\n")
    forking.stdin.flush()
    forking.stdout.readline()
    assert forking.stdout.readline() == "0\n"
    return time.monotonic() - begin


def stop_child(how, seconds, code, *arguments):
    """Whether the signal found the process still at it."""
    with start_child(code, *arguments) as child:
        time.sleep(seconds)
        child.send_signal(how)
        child.communicate()
    return child.returncode != 0


def grow_old(folder):
    """Make what killed processes left look as if it had lain there for hours."""
    for path in folder.glob(".*.ingest"):
        for each in (path, *path.rglob("*")):
            os.utime(each, (0, 0))


# Stopped from outside.


@pytest.mark.slow
@pytest.mark.parametrize("exists", [pytest.param(False, marks=pytest.mark.slow), True], ids=["new", "existing"])
def test_kill_at_any_moment(tmp_path, made_once, exists):
    source = trace_file(tmp_path / "sources" / "a.json", rank=1, kernels=500)
    place = tmp_path / "place"
    place.mkdir()
    database = place / "t.duckdb"
    trial = tmp_path / "trial.duckdb"
    if exists:
        shutil.copyfile(made_once, database)
        shutil.copyfile(made_once, trial)
    before = database.read_bytes() if exists else None
    hits = 0
    with start_child(FORKING, source) as forking:
        duration = duration_of_ingest(forking, trial)
        whole = query_database(trial, SIZES)
        for number in range(KILLS):
            hits += ingest_and_kill(forking, database, duration * (number + 0.5) / KILLS) != 0
            now = database.read_bytes() if database.exists() else None
            if now != before:
                # It had come to its end: then everything is there.
                assert query_database(database, SIZES) == whole
                database.unlink()
                if exists:
                    shutil.copyfile(made_once, database)
        forking.stdin.close()
    assert hits >= KILLS // 2

    grow_old(place)
    ingest([source], database)
    assert names_in(place) == ["t.duckdb"]
    assert has_traces(database, 1 + exists)


@pytest.mark.sample(2)
@pytest.mark.parametrize("moment", ["before", "after"])
def test_kill_beside_the_one_step_that_counts(database, source, moment):
    before = database.read_bytes()
    killing = f"""
import os, signal
from pathlib import Path
replace = Path.replace
def killed(path, target):
    if {moment!r} == "after":
        replace(path, target)
    os.kill(os.getpid(), signal.SIGKILL)
Path.replace = killed
"""
    with start_child(killing + INGEST, database, source) as child:
        child.communicate()
    assert child.returncode == -signal.SIGKILL
    assert (database.read_bytes() == before) == (moment == "before")
    assert has_traces(database, 1 if moment == "before" else 2)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_that_end_a_process(tmp_path, made_once, how):
    source = trace_file(tmp_path / "sources" / "a.json", rank=1, kernels=50_000)
    database = shutil.copyfile(made_once, tmp_path / "t.duckdb")
    before = database.read_bytes()
    assert stop_child(how, 0.25, INGEST, database, source)
    assert database.read_bytes() == before
    if how == signal.SIGINT:
        assert names_in(tmp_path) == ["sources", "t.duckdb"]


@pytest.mark.slow
def test_interrupt_ends_the_processes_and_removes_what_they_wrote(tmp_path):
    sources = [trace_file(tmp_path / "sources" / f"{rank}.json", rank, kernels=100_000) for rank in range(2)]
    with start_child(f"with within(Limits(jobs=2)): {INGEST}", tmp_path / "t.duckdb", *sources) as child:
        wait_for(lambda: any(tmp_path.glob(".*.ingest/*")))
        # What Ctrl-C in a terminal does: a signal to all processes of the group.
        os.killpg(child.pid, signal.SIGINT)
        _, stderr = child.communicate()
    assert stderr.splitlines()[-1] == "KeyboardInterrupt"
    assert names_in(tmp_path) == ["sources"]
    assert not runs_in_session(child.pid)


def wait_for(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def runs_in_session(session):
    """Whether any process of the session is alive; zombies wait for a parent and do nothing."""
    listed = subprocess.run(["ps", "-A", "-o", "sid=,stat="], capture_output=True, text=True, check=True).stdout
    return any(int(sid) == session and not stat.startswith("Z") for sid, stat in map(str.split, listed.splitlines()))


# What killed ingests left.


def scratch_of(pid, name="t.duckdb"):
    return f".{name}.{pid}.abc.ingest"


@pytest.fixture
def dead_pid():
    with start_child("") as child:
        child.communicate()
    return child.pid


@pytest.mark.slow
def test_stale_directories_of_dead_processes_are_removed(database, source, dead_pid):
    folder = database.parent
    kept = [scratch_of(owner_word()), scratch_of(dead_pid, "other.duckdb"), ".t.duckdb.notes", scratch_of("x")]
    for name in (scratch_of(dead_pid), scratch_of(10**30), *kept):
        (folder / name).mkdir()
        (folder / name / "trace-1.duckdb").touch()
    grow_old(folder)
    ingest([source], database)
    assert names_in(folder) == sorted([*kept, "t.duckdb"])


@pytest.mark.slow
def test_fresh_directories_stay_for_their_process_may_run_on_another_machine(database, source, dead_pid):
    (database.parent / scratch_of(dead_pid)).mkdir()
    ingest([source], database)
    assert names_in(database.parent) == [scratch_of(dead_pid), "t.duckdb"]


@pytest.mark.slow
def test_directories_of_dead_processes_of_this_machine_go_at_once(database, source, tmp_path, monkeypatch):
    """Also temporary ones, wherever the next traceq needs one; those of a process that runs stay."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()
    with start_child("from traceq.common.owner import owner_word; print(owner_word(), flush=True); input()") as child:
        dead = child.stdout.readline().strip()
        left = [database.parent / scratch_of(dead), tmp_path / "tmp" / f"traceq-{dead}-01234567"]
        for each in left:
            each.mkdir()
        ingest([source], database)
        with temporary_folder():
            assert all(each.is_dir() for each in left)
        child.kill()
        child.wait()
        ingest([source], database, force=True)
        with temporary_folder() as folder:
            assert folder.is_dir()
    assert not any(each.exists() for each in (*left, folder))


def test_a_number_that_is_given_again_is_another_process():
    pid, _, machine = owner_word().split("-")
    assert not is_gone(owner_word())
    assert is_gone(f"{pid}-1-{machine}")
    assert is_gone(f"{pid}-1-00000000") is None
    assert is_gone(pid) is None


@pytest.mark.slow
def test_link_that_looks_like_a_stale_directory_is_not_followed(database, source, dead_pid, tmp_path):
    treasure = trace_file(tmp_path / "treasure" / "a.json")
    (database.parent / scratch_of(dead_pid)).symlink_to(treasure.parent)
    os.utime(treasure.parent, (0, 0))
    ingest([source], database)
    assert treasure.exists()


# Failures.


@contextmanager
def nothing_changes_in(folder):
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    yield
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
    assert names_in(folder) == sorted(path.name for path in before)


@pytest.mark.sample(2)
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("exists", [False, True], ids=["new", "existing"])
def test_one_bad_source_among_several(database, source, tmp_path, jobs, exists):
    if not exists:
        database.unlink()
    bad = tmp_path / "sources" / "bad.json"
    bad.write_text('{"traceEvents": [')
    with nothing_changes_in(database.parent):
        assert "bad.json: nothing recorded: the file holds no events" in error_of(
            UnusableTrace, [source, bad], database, jobs=jobs
        )


def _rewrite_file(path, other):
    path.write_bytes(other.read_bytes())


def _replace_columns(path, other):
    shutil.copyfile(other, path.with_name("copy"))
    path.with_name("copy").replace(path)


def _link_file(path, other):
    path.unlink()
    path.symlink_to(other)


def _cut_file(path, _other):
    os.truncate(path, path.stat().st_size - 3)


def _grow_file(path, _other):
    with path.open("a") as file:
        file.write(" ")


def _rewritten_at_the_same_time(path, _other):
    """As long as before, and with its times: what a file system with coarse times shows of a quick change."""
    path.write_text(path.read_text().replace("gemm_0", "gemm_9"))


@pytest.mark.sample(2)
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("change", [_rewrite_file, _replace_columns, _link_file, _cut_file, _grow_file])
def test_source_that_changes_after_its_hash_was_taken(database, source, tmp_path, change, jobs):
    other = trace_file(tmp_path / "other" / "other.json", rank=2, kernels=20)
    more = trace_file(tmp_path / "sources" / "more.json", rank=3)

    class Changer:
        def start(self, total_bytes):  # noqa: ARG002
            change(source, other)

        def advance(self, *_):
            pass

        analyse = advance

        def finish(self):
            pass

    with nothing_changes_in(database.parent):
        error = error_of(UnusableTrace, [source, more], database, jobs=jobs, progress=Changer())
    assert "was changed while it was read" in error


def test_a_change_that_times_do_not_show(source, monkeypatch):
    found = find_sources([source])[0]
    # Files that were written long ago are not read a second time.
    monkeypatch.setattr(sources, "_read_states", lambda _files: ((1, 2, 3, 0, 0),))
    hashed, _ = found.with_content()
    assert hashed.content.is_settled
    now = time.time_ns()
    monkeypatch.setattr(sources, "_read_states", lambda _files: ((1, 2, 3, now, now),))
    hashed, _ = found.with_content()
    with hashed.check_unchanged():
        pass
    _rewritten_at_the_same_time(source, None)
    with pytest.raises(UnusableTrace, match="was changed while it was read"), hashed.check_unchanged():
        pass


def test_source_that_vanishes_meanwhile(database, source):
    class Remover:
        def start(self, total_bytes):  # noqa: ARG002
            source.unlink()

        def finish(self):
            pass

    with nothing_changes_in(database.parent):
        assert "No such file" in error_of(StoreError, [source], database, progress=Remover())


@pytest.mark.sample(2)
@pytest.mark.parametrize("exists", [False, True], ids=["new", "existing"])
def test_another_ingest_that_was_faster(database, source, tmp_path, exists):
    if not exists:
        database.unlink()
    other = trace_file(tmp_path / "sources" / "other.json", rank=2)

    class Faster:
        def start(self, total_bytes):  # noqa: ARG002
            ingest([other], database)

        def advance(self, read_bytes, rows):
            pass

        def analyse(self, stage, share):
            pass

        def finish(self):
            pass

    assert "changed by someone else" in error_of(StoreError, [source], database, progress=Faster())
    assert has_traces(database, 1 + exists)
    assert query_database(database, "select path from trace order by trace_id desc limit 1") == [(str(other),)]
    assert names_in(database.parent) == ["t.duckdb"]


@pytest.mark.slow
def test_another_process_that_began_to_write(database, source):
    with duckdb.connect(str(database)) as connection:
        connection.execute("create table mine (number integer)")
    writing = (
        "import duckdb; c = duckdb.connect(sys.argv[1]); c.execute('insert into mine values (1)'); sys.stdin.read()"
    )
    with start_child(writing, database) as child:
        try:
            wait_for(publish.log_of(database).exists)
            with nothing_changes_in(database.parent):
                assert "t.duckdb" in error_of(StoreError, [source], database)
        finally:
            child.stdin.close()
            child.wait()
    ingest([source], database)
    assert query_database(database, "select * from mine") == [(1,)]


def test_database_locked_by_another_process(database, source):
    opening = "import duckdb; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    with start_child(opening, database) as child:
        try:
            assert child.stdout.readline() == "open\n"
            with nothing_changes_in(database.parent):
                assert "lock" in error_of(StoreError, [source], database)
        finally:
            child.stdin.close()
            child.wait()


@pytest.mark.slow
def test_database_with_changes_that_were_not_finished(database, source):
    leave_log(database)
    with nothing_changes_in(database.parent):
        assert "open it with duckdb" in error_of(StoreError, [source], database)
    duckdb.connect(str(database)).close()
    ingest([source], database)
    assert query_database(database, "select * from mine") == [(1,)]
    assert has_traces(database, 2)


def test_log_that_a_removed_database_left(database, source):
    leave_log(database)
    database.unlink()
    with nothing_changes_in(database.parent):
        assert "t.duckdb.wal" in error_of(StoreError, [source], database)


def leave_log(database):
    """What a program leaves that made a view and was killed."""
    crash = "import duckdb, os; c = duckdb.connect(sys.argv[1]); c.execute('create view mine as select 1'); os._exit(0)"
    with start_child(crash, database) as child:
        child.communicate()
    assert publish.log_of(database).exists()


# Full disks.

LIMITED = """
import resource, signal
from traceq.errors import StoreError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
try:
    ingest(sys.argv[3:], sys.argv[2])
except StoreError as error:
    print(error)
"""


@pytest.mark.sample(3)
@pytest.mark.parametrize("size", [1_000, 20_000, 70_000, 300_000, 700_000])
def test_file_that_may_not_grow(database, source, size):
    with nothing_changes_in(database.parent), start_child(LIMITED, size, database, source) as child:
        stdout, stderr = child.communicate()
    assert stderr == ""
    assert "File too large" in stdout
    assert stdout.count("\n") == 1


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 4 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root may mount")
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this root may not mount")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.sample(2)
@pytest.mark.parametrize("jobs", [1, 2])
def test_full_disk(small_disk, made_once, tmp_path, jobs):
    database = shutil.copyfile(made_once, small_disk / "t.duckdb")
    sources = [trace_file(tmp_path / "sources" / f"{rank}.json", rank, kernels=5000) for rank in range(2)]
    with nothing_changes_in(small_disk):
        assert "No space left" in error_of(StoreError, sources, database, jobs=jobs)


def test_full_disk_without_a_database(small_disk, source):
    (small_disk / "ballast").write_bytes(bytes(3_900_000))
    with nothing_changes_in(small_disk):
        assert "No space left" in error_of(StoreError, [source], small_disk / "t.duckdb")


# Places where no database can be.


def test_missing_directory(tmp_path, source):
    message = error_of(StoreError, [source], tmp_path / "no" / "t.duckdb")
    assert f"the directory {tmp_path / 'no'} does not exist" in message
    assert not (tmp_path / "no").exists()


def test_directory_instead_of_a_file(tmp_path, source):
    assert f"{tmp_path}: is a directory" in error_of(StoreError, [source], tmp_path)


def test_file_instead_of_a_directory(source):
    assert "does not exist" in error_of(StoreError, [source], source / "t.duckdb")


def test_name_that_is_too_long(tmp_path, source):
    for length in (245, 300):
        assert "File name too long" in error_of(StoreError, [source], tmp_path / ("x" * length))
    assert names_in(tmp_path) == ["sources"]


@pytest.mark.parametrize("content", [b"", b"DUCK", b"precious text\n" * 1000, b"SQLite format 3\0" + bytes(4080)])
def test_file_that_is_no_database(tmp_path, source, content):
    precious = tmp_path / "precious"
    precious.write_bytes(content)
    assert f"{precious}: not a DuckDB database" in error_of(StoreError, [source], precious)
    assert precious.read_bytes() == content
    assert names_in(tmp_path) == ["precious", "sources"]


def test_source_as_its_own_database(source):
    content = source.read_bytes()
    assert "not a DuckDB database" in error_of(StoreError, [source], source)
    assert source.read_bytes() == content


@pytest.mark.parametrize(
    "statements",
    [
        "create table people (name varchar)",
        "create table traceq_schema (number integer)",
        "create table traceq_schema (version integer); insert into traceq_schema values (1)",
    ],
)
def test_database_of_somebody_else(tmp_path, source, statements):
    database = tmp_path / "t.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.execute(statements)
    before = database.read_bytes()
    assert str(database) in error_of(StoreError, [source], database)
    assert database.read_bytes() == before


@pytest.mark.parametrize(
    ("version", "way_out"),
    [(SCHEMA_VERSION + 1, "upgrade traceq"), (3, "ingest the traces again")],
)
def test_database_of_another_version(database, source, version, way_out):
    with duckdb.connect(str(database)) as connection:
        connection.execute("update traceq_schema set version = ?", [version])
    with nothing_changes_in(database.parent):
        assert way_out in error_of(SchemaMismatch, [source], database)


# Blocks that an ingest reads: between them lie free ones, and those of gpu_model and of jobs.
@pytest.mark.parametrize("part", [0.0005, 0.15, 0.25, 0.4, 0.45, 0.6, 0.65, 0.7, 0.75])
def test_damaged_database(database, source, part):
    content = bytearray(database.read_bytes())
    begin = int(len(content) * part)
    # several blocks: one may be free
    content[begin : begin + 260_000] = b"\x5a" * len(content[begin : begin + 260_000])
    database.write_bytes(content)
    with nothing_changes_in(database.parent):
        assert str(database) in error_of(StoreError, [source], database)


def test_database_cut_short(database, source):
    database.write_bytes(database.read_bytes()[: database.stat().st_size // 2])
    with nothing_changes_in(database.parent):
        assert str(database) in error_of(StoreError, [source], database)
