"""traceq rules test --blind: what is said of traces is frozen once, and graded by labels that come later."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from traceq.app.blind.folder import place_of
from traceq.cli import main

FIXTURES = Path(__file__).parents[2] / "fixtures"
TRACES = ("run/kineto_2026.json.gz", "broken/two_processes_one_file.json", "broken/sqlite_truncated.sqlite")
LOADING = {
    "judged": {
        "per": "step",
        "step_ns": 10_000_000,
        "bottlenecks": [
            {"cause": "input-loading", "size_ns": 6.5e6, "low_ns": 5e6, "high_ns": 7e6, "fix": "load in workers"}
        ],
        "first": ["input-loading"],
        "also_true": ["input-copy"],
        "nothing": False,
    },
    "unit": {"steps": 5},
    "program": "small model",
}
NOTHING = {
    "judged": {"per": "run", "step_ns": 0, "bottlenecks": [], "first": [], "also_true": [], "nothing": True},
    "unit": {"steps": 0},
}


def run(*arguments, **environment):
    return CliRunner().invoke(main, ["rules", "test", *map(str, arguments)], env=environment)


def label(folder, name, content):
    path = folder / "labels" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content), "utf-8")


def with_judged(**changes):
    return {**LOADING, "judged": {**LOADING["judged"], **changes}}


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """A folder whose traces were judged, of which one had a label by then."""
    folder = tmp_path_factory.mktemp("blind") / "mine"
    for number, each in enumerate(TRACES):
        place = folder / f"part{number}" / Path(each).name
        place.parent.mkdir(parents=True)
        shutil.copyfile(FIXTURES / each, place)
    (folder / "notes.md").write_text("no trace", "utf-8")
    label(folder, "two_processes_one_file", NOTHING)
    label(folder, "pairs", [{"base": "kineto_2026", "new": "two_processes_one_file"}])
    # a pair is compared without reading its traces again
    return folder, run("--blind", folder, TRACEQ_NO_CACHE=None, TRACEQ_CACHE=str(folder.with_name("cache")))


@pytest.fixture
def folder(once, tmp_path):
    return Path(shutil.copytree(once[0], tmp_path / "mine"))


def frozen(folder, after=None):
    return json.loads((place_of(folder, after) / "frozen.json").read_text("utf-8"))


def test_the_first_run_freezes_and_says_what_to_do_next(once):
    folder, outcome = once
    assert outcome.exit_code == 0, outcome.output
    kept = frozen(folder)
    assert [each["name"] for each in kept["traces"]] == ["kineto_2026", "two_processes_one_file", "sqlite_truncated"]
    assert kept["labels"] == ["two_processes_one_file"]
    assert "the results on 2 traces are frozen" in outcome.output
    assert f"{folder}/labels/kineto_2026.json" in outcome.output
    assert f"{folder}/labels/two_processes_one_file.json" not in outcome.output
    assert "Not blind, as there are labels: two_processes_one_file" in outcome.output
    first, other, refused = kept["traces"]
    assert first["output"]["findings"][0]["rule"] == "synchronous-loader"
    assert (first["unit"], first["steps"], first["capture"]) == ("step", 5, "steps, marked")
    assert first["first"].startswith("Fix first: Load batches in worker processes")
    assert "Fix first: Load batches" in (place_of(folder, None) / "kineto_2026.txt").read_text("utf-8")
    assert other["output"]["unknown"] == "idle_python"
    assert "the SQLite file is damaged" in refused["error"]
    assert [(each["base"], each["new"], each["is_known"]) for each in kept["pairs"]] == [
        ("kineto_2026", "two_processes_one_file", False)
    ]


def test_without_a_label_there_is_nothing_to_grade_and_nothing_is_frozen_again(folder):
    before = (place_of(folder, None) / "frozen.json").read_bytes()
    shutil.rmtree(folder / "labels")
    outcome = run("--blind", folder)
    assert outcome.exit_code == 1
    assert "no label yet; write kineto_2026.json there" in outcome.output
    assert (place_of(folder, None) / "frozen.json").read_bytes() == before


def test_the_second_run_grades_what_was_frozen(folder, tmp_path):
    label(folder, "kineto_2026", LOADING)
    label(folder, "sqlite_truncated", LOADING)
    label(folder, "pairs", [{"base": "kineto_2026", "new": "two_processes_one_file", "verdict": "not comparable"}])
    before = frozen(folder)
    outcome = run("--blind", folder, "-o", tmp_path / "page.md")
    assert outcome.exit_code == 0, outcome.output
    page = (tmp_path / "page.md").read_text("utf-8")
    assert frozen(folder) == before
    assert "| kineto_2026 | 5 steps: right | right | synchronous-loader | 66.1 % | input-loading | 65.0 % |" in page
    assert "| sqlite_truncated | refused | wrong | refused | | input-loading | 65.0 % | 0 0 0 |" in page
    assert "| two_processes_one_file (not blind) |" in page
    assert "**Not blind**, as there were labels when this was frozen: two_processes_one_file." in page
    rows = {line.split(" | ")[0]: line for line in page.splitlines()}
    assert rows["| blind"].startswith("| blind | 2 | 1 right, 0 partly, 1 wrong |")
    assert rows["| not blind"].startswith("| not blind | 1 | 1 right, 0 partly, 0 wrong |")
    assert f"| {before['pairs'][0]['verdict']} | " in page
    record = json.loads((place_of(folder, None) / "graded.json").read_text("utf-8"))
    assert record["set"] == "blind"
    (entry,) = record["rules"]["synchronous-loader"]
    assert {key: entry[key] for key in ("trace", "program", "verdict")} == {
        "trace": "kineto_2026",
        "program": "small model",
        "verdict": "right",
    }
    assert entry.keys() == {"trace", "program", "verdict", "share", "step_ns", "confidence"}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            with_judged(first=["input-laoding"]),
            "'input-laoding' is no cause (did you mean input-loading or input-copy?)",
        ),
        (
            {**LOADING, "judged": {key: value for key, value in LOADING["judged"].items() if key != "step_ns"}},
            "missing required field `step_ns` - at `$.judged`",
        ),
        (with_judged(also_treu=[]), "unknown field `also_treu` - at `$.judged`"),
        (with_judged(per="epoch"), "Invalid enum value 'epoch' - at `$.judged.per`"),
        (with_judged(first=[]), "neither may be empty unless nothing is true"),
        (with_judged(step_ns=6e6), "'input-loading': sizes must be 0 <= low_ns"),
        (with_judged(line={"categories": ["idle_dta"]}), "'idle_dta' is no category of the ledger"),
        (
            with_judged(must_not_say=[{"what": "loading", "causes": ["input-copy"]}]),
            "'input-copy' is both true and in must_not_say",
        ),
        ([], "is not a label: Expected `object`"),
    ],
)
def test_a_label_that_cannot_be_used_is_refused_with_its_place_and_the_way_out(folder, content, words):
    label(folder, "kineto_2026", content)
    outcome = run("--blind", folder)
    assert outcome.exit_code == 1
    assert f"{folder}/labels/kineto_2026.json: " in outcome.output
    assert words in outcome.output


def test_a_label_of_no_trace_is_refused(folder):
    label(folder, "kineto_2062", LOADING)
    outcome = run("--blind", folder)
    assert outcome.exit_code == 1
    assert "no trace 'kineto_2062' was frozen; did you mean kineto_2026?" in outcome.output


def test_a_trace_that_was_changed_since_is_refused_and_one_that_is_gone_is_told(folder):
    label(folder, "kineto_2026", LOADING)
    shutil.copyfile(FIXTURES / "run" / "kineto_2024_base_after.json.gz", folder / "part0" / "kineto_2026.json.gz")
    outcome = run("--blind", folder)
    assert outcome.exit_code == 1
    assert "part0/kineto_2026.json.gz: was changed after it was frozen" in outcome.output
    (folder / "part0" / "kineto_2026.json.gz").unlink()
    outcome = run("--blind", folder)
    assert outcome.exit_code == 0
    assert "so it is not known whether they were changed: kineto_2026" in outcome.output


def test_pairs_must_have_been_frozen_and_have_verdicts_that_there_are(folder):
    for pair, words in (
        ({"base": "kineto_2026", "new": "sqlite_truncated"}, "kineto_2026 -> sqlite_truncated was not frozen"),
        ({"base": "kineto_2026", "new": "two_processes_one_file", "verdict": "better"}, "'better' is not a verdict"),
    ):
        label(folder, "pairs", [pair])
        outcome = run("--blind", folder)
        assert outcome.exit_code == 1
        assert words in outcome.output


def test_a_second_set_is_called_after_and_never_blind(folder):
    blind = (place_of(folder, None) / "frozen.json").read_bytes()
    for part in ("part0", "part2"):
        shutil.rmtree(folder / part)
    (folder / "labels" / "pairs.json").unlink()
    shutil.copyfile(FIXTURES / "broken" / "two_processes_one_file.json", folder / "new.json")
    outcome = run("--blind", folder, "--again", "mended")
    assert outcome.exit_code == 0, outcome.output
    assert "Not blind: frozen as after mended" in outcome.output
    assert frozen(folder, "mended")["after"] == "mended"
    outcome = run("--blind", folder, "--again", "mended")
    assert outcome.exit_code == 0, outcome.output
    assert "# How right traceq is on mine, after: mended" in outcome.output
    assert "**Not blind**: this was frozen after labels could be read." in outcome.output
    assert "| after mended | 1 | 1 right, 0 partly, 0 wrong |" in outcome.output
    assert "\n| blind |" not in outcome.output
    assert json.loads((place_of(folder, "mended") / "graded.json").read_text("utf-8"))["set"] == "after mended"
    assert (place_of(folder, None) / "frozen.json").read_bytes() == blind
    outcome = run("--blind", folder)
    assert "not graded, as they came after the others were frozen: new" in outcome.output


def test_nothing_comes_after_what_was_not_frozen(tmp_path):
    shutil.copyfile(FIXTURES / "broken" / "two_processes_one_file.json", tmp_path / "new.json")
    outcome = run("--blind", tmp_path, "--again", "mended")
    assert outcome.exit_code == 2
    assert "nothing is frozen yet; leave --again out" in outcome.output


def test_a_file_that_is_not_what_was_frozen_is_refused(folder):
    (place_of(folder, None) / "frozen.json").write_text("{}", "utf-8")
    outcome = run("--blind", folder)
    assert outcome.exit_code == 1
    assert "is not what traceq rules test --blind froze" in outcome.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--again", "mended"), "give that, too"),
        (("--calibration", __file__, "--again", "mended"), "--again cannot be combined with --calibration"),
        ((), "python tools/accuracy.py"),
        (("--blind", ".", "--again", "../x"), "letters, digits, dots and hyphens"),
        (("--causes", "--blind", "."), "--blind cannot be combined with --causes"),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = run(*arguments)
    assert outcome.exit_code == 2
    assert words in outcome.output


def test_the_label_that_is_shown_is_one(folder):
    text = run("--causes").output
    shown = text[text.index("{") : text.index("\n\nper ")]
    label(folder, "kineto_2026", json.loads(shown))
    assert run("--blind", folder).exit_code == 0
    assert "input-loading: fetching, decoding or collating in the training process (synchronous-loader," in text
    assert "other: none of these (no rule)" in text
