"""docs/services.md and action.yml: every snippet runs, every command and option in them exists."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml

import traceq
from traceq.cli import main

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "traceq" / "app" / "demo" / "training.pt.trace.json.gz"
PAGE = (ROOT / "docs" / "services.md").read_text("utf-8")
SNIPPETS = {name: code for _, name, code in re.findall(r"```(\w+) (\w+)\n(.*?)```", PAGE, re.DOTALL)}
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
EXAMPLE = ROOT / "docs" / "examples" / "github-actions.yml"
STEPS = ACTION["runs"]["steps"]
PINNED = re.compile(r"(?:actions|github)/[\w/-]+@[0-9a-f]{40}")


class Recorder:
    """A library that takes everything, and remembers it: (name, arguments) of each call, and what was put into it."""

    def __init__(self, name="", calls=None):
        self._name, self._calls = name, [] if calls is None else calls

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Recorder(f"{self._name}.{name}".lstrip("."), self._calls)

    def __call__(self, *arguments, **options):
        self._calls.append((self._name, arguments, options))
        return Recorder(self._name, self._calls)

    def __setitem__(self, key, value):
        self._calls.append((self._name, (key, value), {}))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def given(self, name):
        """The arguments of each call of that name."""
        return [arguments for called, arguments, _ in self._calls if called == name]


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    return traceq.ingest(DEMO, tmp_path_factory.mktemp("services") / "profile.duckdb").database


@pytest.fixture
def here(database, tmp_path, monkeypatch):
    """A directory with profile.duckdb in it, the current one."""
    shutil.copyfile(database, tmp_path / "profile.duckdb")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def ran(here, monkeypatch):  # noqa: ARG001 - the directory with the database
    """Runs the snippet of that name with recorders in the place of the libraries; returns the one it imports."""

    def run(name, *modules):
        library = Recorder()
        for each in modules:
            monkeypatch.setitem(sys.modules, each, library)
        exec(compile(SNIPPETS[name], f"docs/services.md: {name}", "exec"), {})  # noqa: S102 - it is ours
        return library

    return run


@pytest.fixture
def view(database):
    return traceq.report(database, drawn=False)


def test_every_snippet_is_tested():
    assert set(SNIPPETS) == {"wandb", "mlflow", "tensorboard", "gitlab", "github", "tickets"}
    assert all(3 <= code.count("\n") <= 10 for code in SNIPPETS.values())


def expected(view, prefix):
    return {f"{prefix}/gpu{row.device}/{row.category}": row.step_share for row in view.ledger.itertuples()}


@pytest.mark.slow
def test_wandb_gets_verdict_shares_findings_and_the_page(ran, view):
    library = ran("wandb", "wandb")
    assert library.given("init.summary") == [("profile/verdict", view.verdict)]
    shares, tables = (arguments[0] for arguments in library.given("init.log"))
    assert shares == expected(view, "profile")
    assert sum(shares.values()) == pytest.approx(1)
    assert set(tables) == {"profile/findings", "profile/report"}
    assert library.given("Html")[0][0].startswith("<!doctype html>")
    # A wandb.Table takes no missing values of pandas.
    (table,) = (options["dataframe"] for called, _, options in library._calls if called == "Table")
    assert len(table) == len(view.findings)
    assert not table.isna().any(axis=None)


@pytest.mark.slow
def test_mlflow_gets_verdict_shares_findings_and_the_page(ran, view):
    library = ran("mlflow", "mlflow")
    assert library.given("set_tag") == [("profile.verdict", view.verdict)]
    assert library.given("log_metrics") == [(expected(view, "profile"),)]
    texts = {name: text for text, name in library.given("log_text")}
    assert texts["traceq.html"].startswith("<!doctype html>")
    assert texts["traceq_findings.csv"].count("\n") > len(view.findings)
    # What MLflow allows in the name of a metric.
    assert all(re.fullmatch(r"[\w./ -]+", name) for name in expected(view, "profile"))


@pytest.mark.slow
def test_tensorboard_gets_the_report_and_shares(ran, view):
    library = ran("tensorboard", "torch", "torch.utils", "torch.utils.tensorboard")
    assert library.given("SummaryWriter.add_text")[0][0] == "profile"
    assert view.verdict.split(".")[0] in library.given("SummaryWriter.add_text")[0][1]
    assert dict(library.given("SummaryWriter.add_scalar")) == expected(view, "profile")


def test_the_job_for_gitlab_is_one_with_both_reports():
    (job,) = yaml.safe_load(SNIPPETS["gitlab"]).values()
    reports = job["artifacts"]["reports"]
    assert set(reports) == {"junit", "codequality"}
    checked = next(each for each in job["script"] if each.startswith("traceq check"))
    assert f"--junit {reports['junit']} " in f"{checked} "
    assert f"--code-quality {reports['codequality']} " in f"{checked} "
    for command in job["script"]:
        assert unknown_options(command) == set()


@pytest.mark.slow
def test_what_the_job_writes_is_what_gitlab_reads(here, traceq_command):
    (here / "traceq.toml").write_text('[step]\ntypical = "1 ns"\n[ledger]\nidle = "100 %"\n')
    (job,) = yaml.safe_load(SNIPPETS["gitlab"]).values()
    checked = next(each for each in job["script"] if each.startswith("traceq check"))
    result = bash(checked.replace("traces/train.duckdb", "profile.duckdb"), traceq_command)
    assert result.returncode == 3, result.stderr
    (entry,) = json.loads((here / "quality.json").read_text("utf-8"))
    assert set(entry) == {"description", "check_name", "fingerprint", "severity", "location"}
    assert entry["severity"] in ("info", "minor", "major", "critical", "blocker")
    assert entry["location"] == {"path": "traceq.toml", "lines": {"begin": 2}}
    assert (here / "junit.xml").read_text("utf-8").startswith("<?xml")


@pytest.mark.slow
def test_the_commands_for_tickets_write_tickets(here, traceq_command):
    traceq.ingest(DEMO, here / "main.duckdb")
    for command in SNIPPETS["tickets"].replace("--against main", "--against main.duckdb").splitlines():
        result = bash(command, traceq_command)
        assert result.returncode == 0, result.stderr
        text = (here / "ticket.md").read_text("utf-8") if "-o ticket.md" in command else result.stdout
        assert 500 < len(text.encode()) <= 10_240
        assert ("Compared with the base" in text) == ("--against" in command)
        assert text.startswith("h1. traceq report" if "jira" in command else "# traceq report")


# --- the action


@pytest.fixture
def traceq_command(tmp_path_factory):
    """A directory with the command traceq of this checkout."""
    folder = tmp_path_factory.mktemp("bin")
    command = folder / "traceq"
    command.write_text(f"#!/bin/sh\nPYTHONPATH='{ROOT}' exec '{sys.executable}' -m traceq \"$@\"\n")
    command.chmod(0o755)
    return folder


def bash(script, commands, **environment):
    """Run a script as GitHub runs a step."""
    path = f"{commands}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        env={**os.environ, **environment, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def unknown_options(text):
    """Options of the traceq commands in a script that these do not have."""
    unknown = set()
    for line in text.replace("\\\n", " ").splitlines():
        for command in re.findall(r"\btraceq (\w+(?: save)?)((?: [^|;&]+)?)", line):
            unknown |= {f"{command[0]} {each}" for each in options_of(command[1]) - known_options(command[0])}
    return unknown


def options_of(text):
    words = shlex.split(text.partition(" -- ")[0], posix=False)
    return {word for word in words if re.fullmatch(r"--?[a-z][\w-]*", word)}


def known_options(name):
    context, command = click.Context(main), main
    for word in name.split():
        command = command.get_command(context, word)
        assert command is not None, name
    return {option for each in command.params for option in (*each.opts, *each.secondary_opts)}


def test_its_commands_exist_with_their_options():
    scripts = [step["run"] for step in STEPS if "run" in step]
    used = {
        each
        for script in scripts
        for each in re.findall(r"\btraceq (record|ingest|report|compare|check|baseline save)", script)
    }
    assert used == {"record", "ingest", "report", "compare", "check", "baseline save"}
    assert [unknown_options(script) for script in scripts] == [set()] * len(scripts)
    assert unknown_options("traceq report X --tickets") == {"report --tickets"}
    # Options that a script collects before the command.
    collected = {each for script in scripts for each in re.findall(r"\+?=\((--[\w-]+)", script)}
    assert collected == {"--against", "--budgets", "--baseline", "--max-regression"}
    assert collected <= known_options("report") | known_options("check")


def test_its_inputs_are_used_and_described():
    text = json.dumps(STEPS)
    assert [
        name for name in ACTION["inputs"] if f"inputs.{name} " not in f"{text} " and f"inputs.{name}=" not in text
    ] == []
    assert all(each["description"] and "default" in each for each in ACTION["inputs"].values())
    page = PAGE.partition("## GitHub")[2].partition("## Tickets")[0]
    inputs, outputs = (
        set(re.findall(r"`([\w-]+)`", row)) for row in ("".join(rows(page, "input")), "".join(rows(page, "output")))
    )
    assert inputs >= set(ACTION["inputs"])
    assert outputs >= set(ACTION["outputs"])


def rows(page, header):
    """The rows of the table that begins with `header`."""
    table = page.partition(f"| {header} |")[2].partition("\n\n")[0]
    return [line for line in table.splitlines() if line.startswith("| `")]


def test_it_pins_what_it_uses_and_pastes_nothing_into_scripts():
    assert [each["uses"] for each in STEPS if "uses" in each if not PINNED.fullmatch(each["uses"])] == []
    assert [each["name"] for each in STEPS if "${{" in each.get("run", "")] == []
    assert all(each["shell"] == "bash" for each in STEPS if "run" in each)


def test_the_example_uses_it_in_25_lines():
    text = EXAMPLE.read_text("utf-8")
    assert text.count("\n") <= 25
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    (job,) = workflow["jobs"].values()
    assert "head.repo.full_name == github.repository" in job["if"]
    *others, ours = [each for each in job["steps"] if "uses" in each]
    assert is_checked_out(others[-1], ours)
    assert set(ours["with"]) <= set(ACTION["inputs"])
    assert [each["uses"] for each in others if not PINNED.fullmatch(each["uses"])] == []
    checkout, snippet = yaml.safe_load(SNIPPETS["github"])
    assert checkout == others[-1]
    assert snippet["uses"] == ours["uses"]
    assert set(snippet["with"]) <= set(ours["with"])


def is_checked_out(checkout, ours):
    """Return whether `ours` runs the action from the folder into which `checkout` puts the user's repository."""
    into = checkout["with"]
    return ours["uses"] == f"./{into['path']}" and into["repository"] == "${{ vars.TRACEQ_REPOSITORY }}"


def test_no_page_uses_the_action_of_an_owner_that_does_not_exist():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.*"), ROOT / "action.yml"]
    texts = {each: each.read_text("utf-8") for each in pages if each.suffix in (".md", ".yml", ".yaml")}
    assert [str(page) for page, text in texts.items() if re.search(r"OWNER/|\w/traceq@", text)] == []


class Runner:
    """Runs the steps of the action that are scripts, as GitHub does, but for the installation."""

    def __init__(self, folder, commands):
        self.folder, self.commands = folder, commands
        self.outputs, self.summary = {}, folder / "summary.md"

    def run(self, **inputs):
        """The exit status of the first step that fails, else 0; `inputs` by their names with _ for -."""
        given = {name: each["default"] for name, each in ACTION["inputs"].items()}
        given |= {name.replace("_", "-"): value for name, value in inputs.items()}
        for step in STEPS:
            if "run" not in step or step["name"] == "Install":
                continue
            output = self.folder / "output"
            output.write_text("")
            environment = {name: self._value(text, given) for name, text in step.get("env", {}).items()}
            runner = {"GITHUB_OUTPUT": output, "GITHUB_STEP_SUMMARY": self.summary, "RUNNER_TEMP": self.folder}
            result = bash(step["run"], self.commands, **environment, **{key: str(each) for key, each in runner.items()})
            for line in output.read_text("utf-8").splitlines():
                name, _, value = line.partition("=")
                self.outputs[f"steps.{step['id']}.outputs.{name}"] = value
            self.log = result.stdout + result.stderr
            if result.returncode:
                return result.returncode
        return 0

    def _value(self, text, inputs):
        known = {**{f"inputs.{name}": value for name, value in inputs.items()}, **self.outputs}
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda match: known.get(match[1], ""), text)


@pytest.fixture
def runner(here, traceq_command):
    return Runner(here, traceq_command)


def test_it_reports_on_a_database_and_keeps_a_baseline(runner, here):
    assert runner.run(source="profile.duckdb", save_baseline="main", baseline="main") == 0, runner.log
    assert runner.summary.read_text("utf-8").startswith("# traceq report")
    assert (here / ".traceq" / "baselines" / "main.json").exists()
    assert {each.name for each in (here / "traceq").iterdir()} == {"report.html", "ticket.md"}
    assert "steps.check.outputs.state" not in runner.outputs


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """A function that runs the action with a stand-in for traceq: exit status, words of the recorded command, log."""
    monkeypatch.chdir(tmp_path)
    commands = tmp_path / "bin"
    commands.mkdir()
    stub = commands / "traceq"
    stub.write_text(
        '#!/bin/sh\n[ "$1" = record ] && printf "%s\\0" "$@" > words && touch traceq/traces/train.duckdb\n:\n'
    )
    stub.chmod(0o755)
    (tmp_path / "traceq" / "traces").mkdir(parents=True)
    (tmp_path / "traceq" / "ticket.md").touch()
    (commands / "python").symlink_to(sys.executable)

    def run(command):
        runner = Runner(tmp_path, commands)
        status = runner.run(record=command)
        words = tmp_path / "words"
        given = words.read_text("utf-8").split("\0")[:-1] if words.exists() else []
        return status, given[given.index("--") + 1 :] if given else [], runner.log

    return run


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ('python train.py --name "a b"', ["python", "train.py", "--name", "a b"]),
        (
            "python -c 'import train; train.main()' --tag=\"it's\"",
            ["python", "-c", "import train; train.main()", "--tag=it's"],
        ),
        ('torchrun train.py \\\n  --empty "" --path a\\ b\n', ["torchrun", "train.py", "--empty", "", "--path", "a b"]),
        (
            "python train.py $HOME * $(touch pwned); `id` | cat",
            ["python", "train.py", "$HOME", "*", "$(touch", "pwned);", "`id`", "|", "cat"],
        ),
    ],
)
def test_the_program_is_recorded_with_its_quotes_and_nothing_is_expanded(recorded, command, words):
    status, given, log = recorded(command)
    assert (status, given) == (0, words), log


def test_a_quote_without_its_end_is_an_error(recorded):
    status, given, log = recorded("python train.py --name 'a b")
    assert (status, given) == (2, [])
    assert "a quote without its end" in log


@pytest.mark.slow
def test_it_checks_budgets_and_compares_with_the_baseline(runner, here):
    traceq.ingest(DEMO, here / "main.duckdb")
    (here / "traceq.toml").write_text('[step]\ntypical = "1 ns"\n')
    code = runner.run(source="profile.duckdb", baseline="main.duckdb", max_regression="50%")
    assert code == 3, runner.log
    assert runner.outputs["steps.check.outputs.state"] == "fail"
    summary = runner.summary.read_text("utf-8")
    assert "## Compared with the base" in summary
    assert "traceq check" in summary
    names = {each.name for each in (here / "traceq").iterdir()}
    assert names == {"report.html", "compare.html", "ticket.md", "check.md", "junit.xml", "traceq.sarif"}
    assert runner.run(source="profile.duckdb", fail_on="never") == 0, runner.log


@pytest.mark.slow
def test_wrong_inputs_are_said(runner):
    assert runner.run() == 2
    assert "say source or record" in runner.log
    assert runner.run(source="profile.duckdb", fail_on="always") == 2
    assert "not always" in runner.log
