"""Baselines and JSON that traceq 0.1 wrote: read as then, and still what a reader of today's JSON finds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from release_0_1 import ROOT, unpacked

from traceq.cli import main
from traceq.database.connect import connect
from traceq.diagnosis.rules.registry import default_rules
from traceq.runs import baselines
from traceq.runs.read import read_runs

# What writes each kind of JSON, from the upgraded database of the same traces.
COMMANDS = {
    "report.json": ("report", "run.duckdb"),
    "compare.json": ("compare", "baseline.json", "run.duckdb"),
    "check.json": ("check", "run.duckdb", "--baseline", "baseline.json"),
    "doctor.json": ("doctor", "run.duckdb", "--format", "json"),
}
BUDGETS = ROOT / "fixtures" / "make" / "release_0_1.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """run.duckdb and baseline.json of 0.1, the former upgraded, and the budgets they were checked with."""
    path = tmp_path_factory.mktemp("release")
    for name in ("run.duckdb", "baseline.json"):
        (path / name).write_bytes(unpacked(name))
    assert CliRunner().invoke(main, ["upgrade", str(path / "run.duckdb")]).exit_code == 0
    (path / "traceq.toml").write_text(re.search(r'BUDGETS = """\\\n(.*?)"""', BUDGETS.read_text(), re.DOTALL)[1])
    return path


def keys(value, at="$"):
    """The paths of all keys in a JSON value; places in lists are left out."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{at}.{key}"
            yield from keys(inner, f"{at}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner, f"{at}[]")


def without_deviation(item):
    """Baselines of 0.1 do not say how parts scatter from step to step."""
    return replace(item, every=replace(item.every, deviation=None), typical=replace(item.typical, deviation=None))


@pytest.mark.slow
def test_a_baseline_of_0_1_is_the_run_it_was_made_from(folder):
    kept = baselines.read(folder / "baseline.json")
    with connect(folder / "run.duckdb") as connection:
        run = next(iter(read_runs(connection, "small").values()))
    (old,) = kept.runs
    # Ids of findings have the name of the run, which the trace of the baseline had not; it says nothing of its capture, either.
    assert (
        replace(
            run,
            source=old.source,
            findings=old.findings,
            parts=old.parts,
            cannot_tell=old.cannot_tell,
            items=tuple(map(without_deviation, run.items)),
            unit=None,
            unit_name=None,
            capture=old.capture,
        )
        == old
    )
    # There are more rules now, of which fewer are asked. One is for programs of PyTorch, and upgraded databases do not say
    # whether theirs was.
    asked = {rule.name for rule in default_rules()} - {"main-thread-collate"}
    assert old.cannot_tell.keys() & asked <= run.cannot_tell.keys()
    # What a fix is likely to win, of what, how sure that is, what it is called and why a rule cannot tell today's rules say.
    of_rules = {
        "title": "",
        "saving_ns": 0,
        "saving_low_ns": 0,
        "saving_high_ns": 0,
        "owned_ns": None,
        "assumed_share": None,
        "rule_share": None,
        "confidence": "low",
    }
    assert [replace(each, finding_id=each.finding_id.replace("@small@", "@"), **of_rules) for each in run.findings] == [
        replace(each, **of_rules) for each in old.findings if each.rule in asked
    ]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_reader_of_the_json_of_0_1_can_read_todays(folder, monkeypatch, name):
    monkeypatch.chdir(folder)
    outcome = CliRunner().invoke(main, [*COMMANDS[name], "-o", name])
    assert outcome.exit_code in (0, 3, 4), outcome.output
    old, new = json.loads(unpacked(name)), json.loads(Path(name).read_text())
    if new["schema_version"] == old["schema_version"]:
        assert set(keys(old)) - set(keys(new)) == set()
    else:
        assert f"`schema_version` {new['schema_version']}" in (ROOT / "CHANGELOG.md").read_text()


def test_a_report_of_0_1_keeps_the_schema_of_its_version():
    schema = json.loads((ROOT / "docs" / "report.schema.json").read_text())
    report = json.loads(unpacked("report.json"))
    if report["schema_version"] == schema["properties"]["schema_version"]["const"]:
        jsonschema.validate(report, schema)
