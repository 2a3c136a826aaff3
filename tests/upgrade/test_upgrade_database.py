"""traceq upgrade: databases of older versions become what this version would have made, or stay as they are."""

from __future__ import annotations

import json
import os
import re
import stat

import duckdb
import pytest
from builder import judge_database
from click.testing import CliRunner
from release_0_1 import TRACES

from traceq.cli import main
from traceq.database import catalogue, connect, migrate
from traceq.errors import SchemaMismatch, StoreError
from traceq.loading.ingest import ingest

# What an upgrade cannot make again without the traces: names of operators in nsys captures (trace 2), and what follows from
# them; what is read from all names.
OTHER_NAMES = {"communication_name", "cpu_slice", "host_name"}
FROM_NAMES = {"phase_of_run", "program", "triage", "unit"}
# The causal model of steps is made when they are ingested, and savings follow from it; so is what gaps come late after.
CAUSAL = {"copy_overlap", "critical_path", "dependency", "finding", "idle_gap", "judgement", "replay", "replay_step"}
# Of what filled a gap the largest slice alone was known.
CULPRITS = {"idle_culprit", "idle_gap_cause"}
# Of gaps after a wait only the first was known to follow from it.
DEBTS = {"wait_debt"}
# What names of kernels tell is read when traces are ingested.
COMPILED = {"compiled_kernel"}
# The zone of the machine was not read.
ZONES = {"trace"}

MADE_UP = """
alter table trace add column colour varchar;
update trace set colour = 'green' where trace_id = 1;
"""


@pytest.fixture
def made_up(monkeypatch, tmp_path):
    """Let there be a next version of the schema, whose table trace has a colour."""
    file = tmp_path / "next.sql"
    file.write_text(MADE_UP)
    version = connect.SCHEMA_VERSION
    monkeypatch.setitem(connect.MIGRATIONS, version, str(file))
    for module in (connect, migrate):
        monkeypatch.setattr(module, "SCHEMA_VERSION", version + 1)
    return file


def traceq(*arguments):
    return CliRunner().invoke(main, [str(each) for each in arguments])


def ask(path, query):
    with connect.connect(path) as connection:
        return connection.execute(query).fetchall()


def described(connection):
    """Every table and view with its comment and columns, the words of every view, and the columns that are never NULL."""
    # Words in no order: DuckDB writes the names after `exclude` in a different order each time.
    views = {
        name: sorted(re.findall(r"\w+", sql))
        for name, sql in connection.execute("select view_name, sql from duckdb_views() where not internal").fetchall()
    }
    required = connection.execute(
        "select table_name, column_name from duckdb_columns() where not internal and not is_nullable order by all"
    ).fetchall()
    return {each.name: each for each in catalogue.list_tables(connection)}, views, required


def rows(path):
    """What the tables hold and the findings, but for when it was ingested and what names the rules that judged it."""
    with connect.connect(path) as connection:
        found = connection.execute("select table_name from duckdb_tables()").fetchall()
        names = ["finding", *(name for (name,) in found)]
        return {
            name: [
                tuple(map(value, row))
                for row in connection.execute(
                    f"select columns(lambda c: c not in ('ingested_at', 'path', 'stamp')) from {name} order by all"
                ).fetchall()
            ]
            for name in names
        }


def value(cell):
    """Arguments as values: 0.1 wrote the keys that it knew first."""
    return json.loads(cell) if isinstance(cell, str) and cell.startswith("{") else cell


@pytest.mark.slow
def test_a_database_of_0_1_becomes_what_this_version_makes_of_its_traces(old, tmp_path):
    assert traceq("upgrade", old).exit_code == 0
    with connect.connect(old) as upgraded, catalogue.empty_database() as empty:
        assert described(upgraded) == described(empty)
    new = tmp_path / "new.duckdb"
    ingest(TRACES, new, run="small")
    judge_database(new)
    upgraded_rows, new_rows = rows(old), rows(new)
    assert upgraded_rows.keys() == new_rows.keys()
    different = {name for name in new_rows if new_rows[name] != upgraded_rows[name]}
    assert different == OTHER_NAMES | FROM_NAMES | CAUSAL | CULPRITS | DEBTS | COMPILED | ZONES
    for name in OTHER_NAMES:
        first, again = ([row for row in each[name] if row[0] == 1] for each in (upgraded_rows, new_rows))
        assert first == again
    assert upgraded_rows["finding"]
    assert upgraded_rows["judgement"]


@pytest.mark.usefixtures("made_up")
def test_an_older_database_is_refused_with_the_command_that_upgrades_it(old):
    with pytest.raises(SchemaMismatch, match=f"; bring it up to date with: traceq upgrade {old}$"):
        connect.connect(old)


def test_a_database_older_than_0_1_is_to_be_ingested_again(old):
    with duckdb.connect(str(old)) as connection:
        connection.execute("update traceq_schema set version = 3")
    with pytest.raises(SchemaMismatch, match=r"; ingest the traces again$"):
        migrate.upgrade(old)


@pytest.mark.usefixtures("made_up")
def test_tables_change_and_what_the_user_put_there_stays(old):
    with duckdb.connect(str(old)) as connection:
        connection.execute("create table mine as select 7 as number")
        connection.execute("create view my_kernels as select name from kernel where dur > 1000")
        connection.execute("drop view kernel")
        kernels = connection.execute("select count(*) from gpu_slice where kind = 'kernel'").fetchall()
    before = connect.SCHEMA_VERSION - 1
    assert migrate.upgrade(old) <= before
    assert ask(old, "from traceq_schema") == [(connect.SCHEMA_VERSION,)]
    assert ask(old, "select trace_id, colour from trace order by 1") == [(1, "green"), (2, None)]
    assert ask(old, "from mine") == [(7,)]
    assert ask(old, "select count(*) > 0 from my_kernels") == [(True,)]
    assert ask(old, "select count(*) from kernel") == kernels


def test_upgrading_twice_does_nothing(old):
    migrate.upgrade(old)
    before = old.stat().st_mtime_ns
    done = traceq("upgrade", old)
    assert done.exit_code == 0
    assert done.stdout == f"{old}: has schema version {connect.SCHEMA_VERSION} already, nothing to do\n"
    assert old.stat().st_mtime_ns == before


@pytest.mark.usefixtures("made_up")
def test_output_leaves_the_old_database(old, tmp_path):
    before = old.read_bytes()
    new = tmp_path / "new.duckdb"
    migrate.upgrade(old, new)
    assert ask(new, "select count(colour) from trace") == [(1,)]
    assert old.read_bytes() == before


def test_output_overwrites_nothing(old, tmp_path):
    precious = tmp_path / "precious.duckdb"
    precious.write_text("precious")
    with pytest.raises(StoreError, match=r"already exists"):
        migrate.upgrade(old, precious)
    assert precious.read_text() == "precious"


@pytest.mark.usefixtures("made_up")
def test_a_link_stays_a_link_and_rights_stay(old, tmp_path):
    old.chmod(0o640)
    link = tmp_path / "link.duckdb"
    link.symlink_to(old)
    migrate.upgrade(link)
    assert link.is_symlink()
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert ask(old, "from traceq_schema") == [(connect.SCHEMA_VERSION,)]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@pytest.mark.usefixtures("made_up")
def test_an_upgrade_that_is_interrupted_leaves_the_database(old, monkeypatch, error):
    def interrupted(_):
        raise error

    monkeypatch.setattr(migrate, "create_schema", interrupted)
    before = old.read_bytes()
    with pytest.raises(error):
        migrate.upgrade(old)
    assert old.read_bytes() == before
    assert os.listdir(old.parent) == [old.name]  # noqa: PTH208 - with hidden ones


@pytest.mark.usefixtures("made_up")
def test_an_upgrade_that_fails_leaves_the_database(old):
    with duckdb.connect(str(old)) as connection:
        connection.execute("alter table trace add column colour integer")
    before = old.read_bytes()
    with pytest.raises(StoreError, match=r"upgrade failed, nothing was written: .*colour"):
        migrate.upgrade(old)
    assert old.read_bytes() == before
    assert os.listdir(old.parent) == [old.name]  # noqa: PTH208 - with hidden ones


@pytest.mark.usefixtures("made_up")
def test_changes_that_somebody_did_not_finish_are_not_lost(old):
    log = old.with_name("run.duckdb.wal")
    log.write_bytes(b"changes")
    with pytest.raises(StoreError, match="unfinished changes"):
        migrate.upgrade(old)
    assert log.read_bytes() == b"changes"


def test_a_database_that_is_not_there(tmp_path):
    done = traceq("upgrade", tmp_path / "none.duckdb")
    assert done.exit_code == 1
    assert done.stderr.startswith(f"traceq: error: {tmp_path / 'none.duckdb'}: no such trace database")
