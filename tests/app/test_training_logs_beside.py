"""A training log beside a trace: the report says whether the captured steps are usual ones of the run, or why it cannot tell."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fixtures" / "make" / "run_logs"))

import texts

from traceq.app.api import ingest, report
from traceq.cli import main
from traceq.errors import UnknownFormat, UnusableTrace, WrongUse

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "traceq" / "app" / "demo" / "training.pt.trace.json.gz"
LOGS = ROOT / "fixtures" / "run_logs"


def screen(*logs, **options):
    return report(DEMO, cache=False, logs=logs, **options).to_text()


def sentence(*logs, **options):
    """The line of the first screen on the captured steps, with its line breaks undone."""
    text = screen(*logs, **options)
    assert len(text.splitlines()) <= 48
    found = re.search(r"^(?:The captured|Whether the captured).*?(?=\n\n)", text, re.DOTALL | re.MULTILINE)
    return found and " ".join(found[0].split())


def written(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_usual_steps_are_said_to_be_usual():
    assert sentence(LOGS / "megatron.log") == (
        "The captured steps 21 to 26 are usual: 49.35 ms against a median of 50.20 ms over 59 steps."
    )
    assert sentence() is None


def test_slow_steps_are_said_to_be_slow_with_their_percentile(tmp_path):
    steps = [
        step._replace(dur=step.dur if 21 <= step.number <= 26 else step.dur * 5 // 8) for step in texts.make_steps()
    ]
    assert sentence(written(tmp_path, "x.log", texts.megatron(steps))) == (
        "The captured steps 21 to 26 take 1.57 times as long as usual: 49.35 ms against a median of 31.40 ms over 59 steps"
        " (percentile 95)."
    )


def test_of_a_log_of_other_steps_it_cannot_be_told(tmp_path):
    steps = [step._replace(dur=step.dur // 4) for step in texts.make_steps()]
    assert sentence(written(tmp_path, "x.log", texts.megatron(steps))) == (
        "Whether the captured steps are usual: cannot tell by x.log: steps 21 to 26 take 12.35 ms there and 49.39 ms in the"
        " trace, so that it counts other steps."
    )


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (
            "megatron_old.log",
            "the lines of its steps have no times, and the program does not number its steps in the trace.",
        ),
        ("run.wandb", "the trace was recorded 5818.5 h before its first step."),
        ("trainer_state.json", "neither its lines nor their times tell how long steps took."),
    ],
)
def test_what_cannot_be_told_is_said_with_the_reason(name, reason):
    assert sentence(LOGS / name) == f"Whether the captured steps are usual: cannot tell by {name}, as {reason}"


def test_the_whole_report_and_json_have_the_run():
    made = report(DEMO, cache=False, logs=[LOGS / "restarted.log", LOGS / "torchtitan.log"])
    text = made.to_text(detail="full")
    section = text.split("The whole run\n")[1].split("\nWhere the time went\n")[0]
    assert len([line for line in section.splitlines() if line.strip()]) <= 9
    assert (
        "restarted.log (format megatron): 70 steps, 1 to 60 in 2 attempts, median 50.20 ms, 8 GPUs, 1 checkpoint"
        in " ".join(section.split())
    )
    (trace,) = json.loads(made.to_json())["traces"]
    assert [(log["file"], log["window_first"], log["window_last"], log["placed_by"]) for log in trace["run_logs"]] == [
        ("restarted.log", 21, 26, "clock"),
        ("torchtitan.log", 21, 26, "clock"),
    ]
    assert len([point for point in trace["run_points"] if point["log_id"] == 0]) == 60


def test_tables_hold_the_run(tmp_path):
    ingest(DEMO, tmp_path / "x.duckdb", logs=[LOGS / "megatron.log", LOGS / "megatron.log"])
    with duckdb.connect(str(tmp_path / "x.duckdb"), read_only=True) as connection:

        def ask(query):
            return connection.execute(query).fetchall()

        assert ask("select count(*), min(step), max(step), min(at_ns) from run_step") == [
            (60, 1, 60, texts.make_steps()[0].end // 1000 * 1000)
        ]
        assert ask("select format, clock, shift / 3.6e12, placed_by from run_log") == [
            ("megatron", "local", -2, "clock")
        ]
        assert ask("select text from import_note where code = 'given_twice'") == [
            ("megatron.log is identical to megatron.log, and counts once",)
        ]


def test_a_format_of_the_users_own_is_taken_from_a_file(tmp_path):
    lines = [f"{texts.local(step.end, 3)} tick {step.number} took {step.dur / 1e6:.3f}" for step in texts.make_steps()]
    log = written(tmp_path, "x.log", "\n".join(lines) + "\n")
    form = written(
        tmp_path, "ticks.toml",
        "name = 'ticks'\n[[line]]\npattern = ' tick (?P<step>\\d+) took (?P<step_time>{number})'\n"
        "[quantity]\nstep_time = {unit = 'ms'}\n",
    )  # fmt: skip
    with pytest.raises(UnknownFormat, match="--log-format"):
        screen(log)
    assert sentence(log, log_formats=[form]).startswith("The captured steps 21 to 26 are usual: 49.35 ms")
    with pytest.raises(UnusableTrace, match=r"README.md: no TOML"):
        screen(log, log_formats=[ROOT / "README.md"])


def test_the_offset_is_what_is_added_to_have_utc():
    assert sentence(LOGS / "megatron.log", offset=-7200.0).startswith("The captured steps 21 to 26 are usual")
    said = sentence(LOGS / "megatron.log", offset=-3600.0)
    assert said.endswith("as the trace was recorded 1.0 h before its first step.")


def test_what_is_kept_depends_on_the_log_and_the_format(tmp_path, monkeypatch):
    monkeypatch.delenv("TRACEQ_NO_CACHE", raising=False)
    monkeypatch.setenv("TRACEQ_CACHE", str(tmp_path / "cache"))

    def run(*arguments):
        result = CliRunner().invoke(main, ["report", str(DEMO), *map(str, arguments)])
        assert result.exit_code == 0, result.output
        return "The captured steps" in result.output

    log = tmp_path / "x.log"
    log.write_bytes((LOGS / "megatron.log").read_bytes())
    assert run("--with", log)
    assert not run()
    log.write_bytes((LOGS / "nemo.log").read_bytes())
    assert not run("--with", log)
    log.write_bytes((LOGS / "megatron.log").read_bytes())
    assert run("--with", log)
    assert not run("--with", log, "--offset", "60")


def test_a_database_is_fixed_and_a_log_is_no_trace(tmp_path):
    ingest(DEMO, tmp_path / "x.duckdb")
    with pytest.raises(WrongUse, match="--with is for traces"):
        report(tmp_path / "x.duckdb", logs=[LOGS / "megatron.log"])
    with pytest.raises(
        UnknownFormat, match=r"is a training log, not a trace: .*traceq goodput megatron.log.*--with megatron.log"
    ):
        report(LOGS / "megatron.log")
    with pytest.raises(UnknownFormat, match="--log-format"):
        screen(ROOT / "README.md")


def test_the_fixtures_are_what_their_program_writes(tmp_path):
    texts.main(tmp_path)
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (LOGS / path.name).read_bytes(), path.name
