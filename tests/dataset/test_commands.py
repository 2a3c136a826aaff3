"""Every command answers for a dataset what it answers for a database of the same traces."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import traceq
from traceq.app.agents import Session

KINDS = ("database", "dataset")
TRACE = Path(__file__).parents[2] / "fixtures" / "run" / "kineto_2026.json.gz"


@pytest.fixture(scope="session")
def made(shared_file, job_made):
    """A folder for each kind, in which the job is called job, and a trace with findings one."""

    def make(folder):
        for kind, name in zip(KINDS, ("one", "one/"), strict=True):
            (folder / kind).mkdir(parents=True)
            if kind == "database":
                shutil.copyfile(job_made / kind / "job", folder / kind / "job")
            else:
                shutil.copytree(job_made / kind / "job", folder / kind / "job")
            traceq.ingest(TRACE, f"{folder}/{kind}/{name}", run="one")

    return shared_file("commands_made", make)


COMMANDS = [
    "job",
    "report job --full",
    "report job --format json",
    "report one --format html",
    "report one --format llm",
    "report one --rank 2",
    "report one --trace 1 --top 1",
    "report one --evidence",
    "report one --finding F1",
    "report one --ticket --format md",
    "report one --goal latency",
    "sql job 'select rank, count(*) from trace join kernel using (trace_id) group by all order by all'",
    "sql job 'select * exclude (ingested_at) from trace order by trace_id' --format json",
    "sql job 'from job_rank order by all' --format csv",
    "sql one --of F1",
    "sql job 'select no_such_column from kernel'",
    "tables --format md",
    "compare job job",
    "compare one job --anyway --format json",
    "compare job job --rank 1",
    "check job --baseline job --max-regression 3%",
    "check one --baseline one --max-regression 3% --format json",
    "baseline save main one --directory bases",
    "baseline save all job --directory bases --rank 3",
    "whatif one --remove idle_launch",
    "whatif one --scale 'kernel:*=0.5' --format json",
    "whatif one --list",
    "explain synchronous-loader",
    "doctor job",
    "doctor one --format json",
    "noise one one",
    "verify F1 --before one --after one",
    "tradeoff 1=one 2=one",
    "export one -o new.json",
    "export job --ranks 0,2 -o new.json",
    "export one --finding F1 -o new.json",
    "export job --table step -o new.csv",
    "export one --format csv -o new",
    "report job --window gpu",
    "report job --capture x.json",
]


def run(traceq_command, monkeypatch, folder, arguments):
    """Exit status, what was printed, and the bytes of what was written into files called new."""
    monkeypatch.chdir(folder)
    found = traceq_command(*arguments)
    new = Path("new") if Path("new").is_dir() else Path()
    files = {path.name: path.read_bytes() for path in new.glob("*") if path.is_file() and "new" in str(path)}
    for path in Path().glob("new*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.rmtree("bases", ignore_errors=True)
    return found.exit_code, found.stdout, found.stderr, files


@pytest.mark.sample(48)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_says_of_a_dataset_what_it_says_of_a_database(traceq_command, monkeypatch, made, command):
    database, dataset = (run(traceq_command, monkeypatch, made / kind, shlex.split(command)) for kind in KINDS)
    assert dataset[:3] == database[:3]
    assert dataset[0] in (0, 1, 2, 3)
    assert "Traceback" not in dataset[2]
    assert sorted(dataset[3]) == sorted(database[3])
    for name, content in database[3].items():
        if name not in ("trace.csv", "judgement.csv"):  # when it was ingested, and a hash of that
            # tables are written as they lie, views in order
            assert sorted(dataset[3][name].splitlines()) == sorted(content.splitlines()), name


def test_the_shell_reads_a_dataset(traceq_command, monkeypatch, made):
    said = {}
    for kind in KINDS:
        monkeypatch.chdir(made / kind)
        said[kind] = traceq_command("shell", "job", input="select count(*) from kernel;\n.schema step\nselect nope;\n")
    assert (said["dataset"].stdout, said["dataset"].stderr) == (said["database"].stdout, said["database"].stderr)


@pytest.mark.slow
def test_every_call_of_python_takes_a_dataset(made):
    calls = {
        "report": lambda name: traceq.report(name / "one").to_json(),
        "compare": lambda name: traceq.compare(name / "one", name / "one").to_json(),
        "check": lambda name: traceq.check(name / "one", baseline=name / "one", max_regression=0.03).state,
        "doctor": lambda name: traceq.doctor(name / "one").to_json(),
        "whatif": lambda name: traceq.whatif(name / "one", remove="idle_launch").content.after_ns,
        "choices": lambda name: traceq.whatif_choices(name / "one").to_json(),
        "verify": lambda name: traceq.verify("F1", name / "one", name / "one").to_json(),
        "tradeoff": lambda name: traceq.tradeoff({1: name / "one", 2: name / "one"}).to_json(),
        "plots": lambda name: [
            [axes.get_title(), axes.get_xlabel(), len(axes.get_children())]
            for axes in traceq.plots.step_ledger(traceq.report(name / "one"), trace=1).axes
        ],
    }
    for call, answer in calls.items():
        said = [answer(made / kind) for kind in KINDS]
        alike = [str(each).replace(str(made / kind), "") for each, kind in zip(said, KINDS, strict=True)]
        assert alike[0] == alike[1], call


@pytest.mark.slow
def test_findings_that_nobody_looked_for_are_not_none(traceq_command, monkeypatch, made):
    monkeypatch.chdir(made / "dataset")
    for query in ("from finding", "select count(*) from finding", "select title from finding where rule = 'x'"):
        found = traceq_command("sql", "one", query)
        assert found.exit_code == 1
        assert "a dataset keeps no findings: traceq report one tells them, traceq export" in found.stderr


@pytest.mark.slow
def test_agents_are_answered(made):
    said = {}
    for kind in KINDS:
        with Session() as session:
            opened = session.open(str(made / kind / "one"))
            answers = [opened, session.report("db1"), session.finding("db1"), session.sql("db1", "from step")]
            said[kind] = [str(each.text).replace(str(made / kind), "") for each in answers]
    assert said["dataset"] == said["database"]


@pytest.mark.slow
def test_an_agent_sees_what_was_added_meanwhile(tmp_path, job_traces):
    traceq.ingest(job_traces / "window0" / "rank0.json", f"{tmp_path}/job/", run="small")
    with Session() as session:
        assert "\n1" in session.sql(str(tmp_path / "job"), "select count(*) as traces from trace").text
        traceq.ingest(job_traces / "window0" / "rank1.json", tmp_path / "job", run="small")
        assert "\n2" in session.sql(str(tmp_path / "job"), "select count(*) as traces from trace").text


@pytest.mark.parametrize(
    ("command", "status", "message"),
    [
        (
            "report job --save",
            2,
            "--save is for a trace database, and job is a dataset: traceq convert makes a database",
        ),
        ("trim job --steps 1..2 -o new.json", 2, "job is a dataset: name the trace that it was made from"),
        ("anonymise job -o new.json", 2, "job is a dataset: name the trace that it was made from"),
        ("upgrade job -o new", 2, "job is a dataset: -o is for a trace database"),
        ("upgrade job", 0, "job: has schema version 5 already, nothing to do"),
        ("ingest job -o new.duckdb", 1, "job: "),
        ("ingest one -o one/dataset.json/", 2, "one/dataset.json is a file, and a dataset is a folder: name another"),
    ],
)
def test_what_a_dataset_is_not_for(traceq_command, monkeypatch, made, command, status, message):
    monkeypatch.chdir(made / "dataset")
    found = traceq_command(*command.split())
    assert (found.exit_code, message in found.output) == (status, True), found.output


@pytest.mark.parametrize(
    "command",
    [
        "dataset list",
        "dataset drop --run x",
        "dataset compact",
        "dataset verify",
        "convert -o new.duckdb",
        "sql x",
    ],
)
@pytest.mark.parametrize("address", [True, False])
def test_a_place_without_a_dataset_is_told_and_left_as_it_is(traceq_command, monkeypatch, tmp_path, command, address):
    monkeypatch.chdir(tmp_path)
    name = f"file://{tmp_path}/typo" if address else "typo/"
    words = command.split()
    place = {"convert": 1, "sql": 1}.get(words[0], 2)
    found = traceq_command(*words[:place], name, *words[place:])
    assert found.exit_code in (1, 2)
    if address or words[0] == "dataset":
        assert (
            found.stderr
            == f"traceq: error: {name}: there is no dataset; make one with: traceq ingest SOURCE -o {name}\n"
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("run", [252 * "x", 42 * "å"])
def test_a_run_whose_folder_would_have_too_long_a_name_is_refused_before_any_work(traceq_command, tmp_path, run):
    found = traceq_command("ingest", TRACE, "-o", f"{tmp_path}/new/", "--run", run)
    assert found.exit_code == 2
    assert f"--run {run[:40]}...: is too long to name a folder; use at most 251 ASCII letters." in found.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_database_is_no_dataset(traceq_command, monkeypatch, made):
    monkeypatch.chdir(made / "database")
    for name in ("job", "job/"):
        said = f"traceq: error: {name}: a trace database, not a dataset; convert it: traceq convert job -o job/\n"
        assert traceq_command("dataset", "list", name).stderr == said


@pytest.mark.slow
def test_a_dataset_of_one_snapshot_is_compared_like_the_snapshot(tmp_path):
    from traceq.app.compare_memory import is_snapshot

    traceq.ingest(TRACE, f"{tmp_path}/one/", run="one")
    assert not is_snapshot(tmp_path / "one")


@pytest.mark.slow
def test_the_program_itself_takes_a_dataset(made):
    command = [sys.executable, "-m", "traceq", "report", "one", "--format", "json"]
    said = [
        subprocess.run(command, cwd=made / kind, capture_output=True, text=True, check=True).stdout for kind in KINDS
    ]
    assert json.loads(said[0]) == json.loads(said[1])
