"""Every command on a trace, a file and a program whose names try to be something else: all output is text.

What formats make of names is in tests/reports, tests/runs and test_sql_command.py; here all commands are asked for all formats.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from traceq.cli import main
from traceq.reports.renderers.json_text import json_text

DEMO = Path(__file__).resolve().parents[2] / "traceq" / "app" / "demo" / "training.pt.trace.json.gz"

STEERING = "\x1b[31m\x07\x7f\x9b2J\u202e\u2066\u200f"
EVIL = f"<script>evil()</script>![i](http://evil/i) [l](http://evil/l) @evil #1 `{STEERING}\n::evil\n"
# Limits that are not kept, and one that cannot be judged, whose names want to be something else.
BUDGETS = r'''
[[sql]]
name = "=1 ]]> <x> &#0; \u202e\u0001\n::error::a"
query = "select 1"
max = 0
[[sql]]
name = "@x"
query = """select x from "]]>
::error::" """
max = 0
'''
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def hostile(content: dict) -> dict:
    """The trace with hostile text in what names programs, threads, kernels, operators and devices."""
    for each in content["traceEvents"]:
        if each.get("cat") in ("kernel", "cpu_op", "python_function") or each.get("name", "").startswith("Memcpy"):
            each["name"] += EVIL
        if each["ph"] == "M" and "name" in each.get("args", {}):
            each["args"]["name"] += EVIL
    for device in content.get("deviceProperties", []):
        device["name"] = f"{device.get('name')}{EVIL}"
    return content


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder of a hostile name with a trace and its database."""
    folder = tmp_path_factory.mktemp("hostile") / f"=1{STEERING}"
    folder.mkdir()
    content = hostile(json.loads(gzip.decompress(DEMO.read_bytes())))
    (folder / f"@t{STEERING}.json").write_text(json.dumps(content))
    (folder / "budget.toml").write_text(BUDGETS)
    return folder


def asked(trace, database):
    """Arguments of commands, in an order in which they can be run."""
    yield "ingest", trace, "-o", database
    for command, arguments, formats in (
        ("report", (database,), ("text", "md", "html", "json", "llm")),
        ("compare", (trace, database), ("text", "md", "html", "json")),
        ("whatif", (database, "--remove", "compute"), ("text", "md", "html", "json")),
        ("doctor", (database,), ("text", "json")),
        ("noise", (trace, database), ("text", "md", "html", "json")),
        *(
            ("sql", (database, f"from {table} limit 20"), ("text", "csv", "json", "md"))
            for table in ("gpu_slice", "cpu_slice", "thread", "trace", "finding")
        ),
    ):
        for format_ in formats:
            yield command, *arguments, "--format", format_
    yield "report", database, "--full"
    yield "report", database, "--finding", "F1"
    yield "explain", "F1", database
    yield "whatif", database
    yield "whatif", database, "--gpu", "H200"
    yield "whatif", database, "--ranks", "8"
    yield "doctor", trace
    yield "sql", database, f'from "{STEERING}"'
    yield "export", database, "-o", f"{database}.json"
    yield "export", database, "-o", f"{database}{STEERING}"
    yield "trim", trace, "-o", f"{trace}.small.json", "--steps", "21"
    yield "anonymise", trace, "-o", f"{trace}.private.json"
    budgets = ("--budgets", database.with_name("budget.toml"))
    yield "check", database, *budgets
    files = [f"{database}.{ending}" for ending in ("md", "xml", "sarif.json", "quality.json")]
    yield (
        "check",
        database,
        *budgets,
        "-o",
        files[0],
        "--junit",
        files[1],
        "--sarif",
        files[2],
        "--code-quality",
        files[3],
    )
    yield "export", database, "--format", "csv", "-o", f"{database}.tables"
    for command in ("report", "doctor", "baseline", "ingest", f"{STEERING}"):
        yield command, f"no{STEERING}.json"
        yield command, f"--{STEERING}"


@pytest.mark.slow
def test_no_output_of_a_command_steers_a_terminal_or_is_markup(place):
    trace, database = place / f"@t{STEERING}.json", place / f"d{STEERING}.duckdb"
    acts = []
    for arguments in asked(trace, database):
        outcome = CliRunner().invoke(main, [str(each) for each in arguments])
        text = outcome.stdout_bytes.decode() + outcome.stderr_bytes.decode()
        is_markup = arguments[-1] == "html" and "<script>evil" in text
        if RAW.search(text) or is_markup or not isinstance(outcome.exception, SystemExit | None):
            acts.append((arguments, text[:200], outcome.exception))
    assert not acts
    for written in place.iterdir():
        if written.suffix in (".json", ".md", ".xml") and written.name != trace.name:
            text = written.read_text("utf-8")
            assert not RAW.search(text), written
            # a line that begins so is a command to GitHub, where it is shown in a job's log
            assert not re.search(r"(?m)^\s*::", text), written
            if written.suffix == ".json":
                json.loads(text)
    assert len(ET.parse(place / f"{database.name}.xml").findall(".//testcase")) == 2  # noqa: S314 - traceq wrote it
    for table in place.joinpath(f"{database.name}.tables").iterdir():
        rows = list(csv.reader(table.read_text("utf-8").splitlines(keepends=True)))
        assert len({len(row) for row in rows}) == 1, table
        assert not [value for row in rows for value in row if re.match(r"\s*(?:[=+@]|-(?![\d.]))", value)], table


def test_json_of_reports_is_the_same_without_what_steers_a_terminal():
    text = json_text({STEERING: EVIL})
    assert not RAW.search(text)
    assert json.loads(text) == {STEERING: EVIL}


@pytest.mark.parametrize(
    "arguments", [("export", "no.duckdb", "-o", f"x{STEERING}"), ("sql", "x", "y", "-o", f"z.{STEERING}")]
)
def test_wrong_use_is_told_without_what_steers_a_terminal(arguments):
    outcome = CliRunner().invoke(main, arguments)
    assert outcome.exit_code == 2
    assert not RAW.search(outcome.output)
