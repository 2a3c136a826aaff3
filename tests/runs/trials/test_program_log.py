"""What the log of a program keeps of recordings, experiments and decisions, and what it says of them together."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from handmade_trials import studied

from traceq.errors import NoSuchFinding, StoreError
from traceq.reports.program_log import compose_log, hide_places
from traceq.reports.renderers.to_markdown import blocks_to_markdown
from traceq.reports.renderers.to_text import blocks_to_text
from traceq.runs.program_log import NAME, LogEntry, append_entries, log_experiment, read_log
from traceq.runs.program_tries import find_finding, script_of, tell_programs
from traceq.runs.trials.experiment import Predicted, TrialLimits

TRAIN = "python /home/alice/proj/train.py --data /data/imagenet --key hf_QwErTy12UiOpAs34DfGhJkLz"


def recorded(day, *findings, program=TRAIN):
    """Entries of a recording on that day of November; findings are (number, rule, predicted)."""
    bare = {"at": f"2026-11-{day:02}T10:00:00Z", "by": "record", "program": program, "source": "train.duckdb"}
    entries = [
        LogEntry(
            **bare,
            number=number,
            rule=rule,
            finding_id=f"{rule}@rank0",
            title=f"About {rule}",
            step_ns=10_000_000,
            predicted=likely,
            predicted_low=likely / 2,
            predicted_high=likely * 2,
        )
        for number, rule, likely in findings
    ]
    return entries or [LogEntry(**bare, outcome="healthy", reason="Healthy: nothing to fix")]


def tried(day, rule, change, won, decision=None, by="experiment", reason=""):
    return LogEntry(
        f"2026-11-{day:02}T11:00:00Z",
        by,
        program=TRAIN,
        rule=rule,
        finding_id=rule and f"{rule}@rank0",
        change=change,
        won=won,
        won_low=None if won is None else won - 0.01,
        won_high=None if won is None else won + 0.01,
        decision=decision,
        reason=reason,
    )


def decided(day, rule, decision, reason):
    return LogEntry(
        f"2026-11-{day:02}T12:00:00Z", "hand", rule=rule, finding_id=f"{rule}@rank0", decision=decision, reason=reason
    )


def tell(*entries):
    (program,) = tell_programs(sorted(entries, key=lambda each: each.at))
    return program


def test_entries_are_read_as_they_were_appended(tmp_path):
    entries = recorded(1, ("F1", "item-read", 0.2), ("F2", "host-bound", 0.1))
    assert append_entries(tmp_path / "new", entries) == tmp_path / "new" / NAME
    read = read_log([tmp_path / "new" / NAME])
    assert (list(read.entries), read.faults) == (entries, ())
    assert {tuple(json.loads(line)) for line in (tmp_path / "new" / NAME).read_text().splitlines()} == {
        LogEntry.__struct_fields__
    }


def test_many_processes_may_append_at_once(tmp_path):
    def add(number):
        append_entries(
            tmp_path, [*recorded(1, (f"F{number}", f"rule-{number}", 0.1)), decided(2, "x", "keep", f"{number}")]
        )

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(100)))
    lines = (tmp_path / NAME).read_text().splitlines()
    numbers = [json.loads(line)["number"] for line in lines[::2]]
    assert sorted(numbers) == sorted(f"F{number}" for number in range(100))
    # entries that were appended together stand together
    assert [f"F{json.loads(line)['reason']}" for line in lines[1::2]] == numbers


def test_damaged_lines_are_told_and_the_others_count(tmp_path):
    append_entries(tmp_path, recorded(1, ("F1", "item-read", 0.2)))
    with (tmp_path / NAME).open("ab") as file:
        file.write(b'\xff\n[1]\n\n{"at": "2026", "by": "record", "version": 9, "traceq": "7.0"}\n{"at": "2026-1')
    append_entries(tmp_path, [decided(2, "item-read", "keep", "")])
    read = read_log([tmp_path / NAME])
    assert [each.by for each in read.entries] == ["record", "hand"]
    numbers = [fault.split(": ")[1].split(" is")[0] for fault in read.faults]
    assert numbers == ["line 2", "line 3", "line 5", "line 6"]
    assert read.faults[2].endswith("line 5 is left out: traceq 7.0 wrote it, and this one reads version 1")
    assert "! " in blocks_to_text(compose_log(read), 100)


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"file/traceq-log\.jsonl: cannot be written: "):
        append_entries(tmp_path / "file", [])


def test_nothing_is_written_through_a_link_that_lies_there(tmp_path):
    (tmp_path / "own").write_text("mine")
    (tmp_path / NAME).symlink_to(tmp_path / "own")
    with pytest.raises(StoreError, match="cannot be written"):
        append_entries(tmp_path, recorded(1, ("F1", "item-read", 0.2)))
    assert (tmp_path / "own").read_text() == "mine"


def test_an_experiment_that_goes_on_replaces_what_it_said(tmp_path):
    first, second = (tried(day, "item-read", "amp=bf16", won) for day, won in ((1, 0.1), (2, 0.2)))
    append_entries(tmp_path, [first])
    append_entries(tmp_path, [second])
    assert [each.won for each in read_log([tmp_path / NAME]).entries] == [0.2]
    assert len((tmp_path / NAME).read_text().splitlines()) == 2


SETTINGS = """
    baseline      : 20 20.1 19.9 20
    try workers=4 : 10 10.1 9.9 10
    try pinned=1  : 15 15.1 14.9 15
    compile=1     : 30 30.1 29.9 30
    fused=1       : 20 20.1 19.9 20
    amp=bf16      : failed
    without data  : 8 8.1 7.9 8
"""


def experiment(changed=None, **options):
    promised = Predicted("synchronous-loader", "synchronous-loader@rank0", "Load in workers", 0.45, 0.3, 0.6)
    found = studied(SETTINGS, work={"samples": 8}, predictions={"workers=4": promised}, **options)
    entries = log_experiment(found, ["python", "train.py"], "experiment", changed)
    return {entry.change: entry for entry in entries}


def test_an_experiment_says_what_each_change_won_and_why_it_is_rejected():
    entries = experiment()
    kept = entries["workers=4"]
    assert (kept.decision, kept.outcome, kept.rule) == ("keep", "better", "synchronous-loader")
    assert (kept.predicted, kept.predicted_low, kept.predicted_high) == (0.45, 0.3, 0.6)
    assert kept.won == pytest.approx(0.5, abs=0.01)
    assert kept.won_low < 0.5 < kept.won_high
    assert kept.step_ns == pytest.approx(20e6, rel=0.01)
    assert kept.program == "python train.py"
    said = {change: (entry.decision, entry.outcome, entry.reason) for change, entry in entries.items()}
    assert said["pinned=1"] == ("reject", "better", "workers=4 is better")
    assert said["compile=1"] == ("reject", "worse", f"{entries_quantity()} is worse")
    assert said["fused=1"] == ("reject", "no difference", f"{entries_quantity()} differs by less than 2 %")
    assert said["amp=bf16"] == ("reject", "failed", "failed in round 0")
    assert said["without data"][:2] == (None, "a bound")
    assert entries["without data"].won == pytest.approx(0.6, abs=0.02)
    assert entries["compile=1"].won == pytest.approx(-0.5, abs=0.02)


def test_what_cannot_be_told_stays_undecided():
    found = studied("baseline : 20 20.4\nodd=1 : 19 21", work={"samples": 8})
    (entry,) = log_experiment(found, ["python", "train.py"], "experiment")
    assert (entry.decision, entry.outcome) == (None, "cannot tell")
    assert entry.reason.startswith("cannot tell a difference of 5 %: ")
    assert entry.won_low < 0 < entry.won_high


def entries_quantity():
    return studied(SETTINGS, work={"samples": 8}).quantity


def test_what_changes_results_is_rejected_whatever_it_won():
    entries = experiment({"workers=4": "the loss changed"})
    assert (entries["workers=4"].decision, entries["workers=4"].reason) == ("reject", "the loss changed")
    assert entries["pinned=1"].reason == "workers=4 is better"


def test_what_breaks_a_limit_is_rejected():
    entries = experiment(limits=TrialLimits(latency_ns=5_000_000))
    assert entries["workers=4"].decision == "reject"
    assert entries["workers=4"].reason.startswith("above the limit of ")


def test_a_person_decides_over_what_was_measured():
    program = tell(
        *recorded(1, ("F1", "loader", 0.3), ("F2", "item-read", 0.1), ("F3", "small", 0.05)),
        tried(2, "loader", "workers=2", 0.2, "reject", reason="workers=4 is better"),
        tried(2, "loader", "workers=4", 0.29, "keep"),
        tried(2, "item-read", "fused=1", 0.1, "keep"),
        decided(3, "item-read", "reject", "loss changed"),
    )
    decisions = {
        each.found.rule: (each.final_decision, each.best_try and each.best_try.change) for each in program.findings
    }
    assert decisions == {"loader": ("keep", "workers=4"), "item-read": ("reject", "fused=1"), "small": (None, None)}
    text = blocks_to_text(
        compose_log(logs(*recorded(1, ("F1", "loader", 0.3)), decided(3, "loader", "reject", "no disk"))), 100
    )
    assert "- loader (hand, 2026-11-03): no disk" in text


def logs(*entries, faults=()):
    from traceq.runs.program_log import LogRead

    return LogRead(tuple(sorted(entries, key=lambda each: each.at)), ("/home/alice/traces/traceq-log.jsonl",), faults)


def words_of(content):
    """The page on one line."""
    return " ".join(blocks_to_text(compose_log(content), 200).split())


def test_the_page_begins_with_what_was_decided_and_what_was_not_tried():
    entries = recorded(1, ("F1", "loader", 0.3), ("F2", "item-read", 0.1), ("F3", "small", 0.05))
    untouched = words_of(logs(*entries))
    assert (
        "1 recording, 3 findings; nothing tried. Not tried yet: About loader, predicted 30 % (15 to 60 %), and 2 more findings."
        in untouched
    )
    tries = (tried(2, "loader", "workers=4", 0.29, "keep"), tried(2, "item-read", "fused=1", 0.0, "reject", reason="x"))
    text = words_of(logs(*entries, *tries))
    assert "3 findings (1 kept, 1 rejected); 2 changes tried: 1 kept, 1 rejected. Not tried yet: About small, " in text
    assert "- fused=1 for item-read (experiment, 2026-11-02): x" in text


def test_a_finding_that_the_latest_recording_lacks_is_gone():
    program = tell(
        *recorded(1, ("F1", "loader", 0.3), ("F2", "item-read", 0.1)), *recorded(2, ("F1", "item-read", 0.15))
    )
    assert [(each.found.rule, each.found.predicted, each.is_gone) for each in program.findings] == [
        ("item-read", 0.15, False),
        ("loader", 0.3, True),
    ]
    healthy = tell(*recorded(1, ("F1", "loader", 0.3)), *recorded(2))
    assert [(each.found.rule, each.is_gone) for each in healthy.findings] == [("loader", True)]
    assert [number for _, number in healthy.recordings] == [1, 0]


def test_a_number_is_one_of_the_latest_recording():
    entries = [*recorded(1, ("F1", "loader", 0.3), ("F2", "item-read", 0.1)), *recorded(2, ("F1", "item-read", 0.15))]
    assert find_finding(entries, "f1").rule == "item-read"
    assert find_finding(entries, "loader").at.startswith("2026-11-01")
    assert find_finding(entries, "loader@rank0").number == "F1"
    with pytest.raises(NoSuchFinding, match=r"^F2: no such finding in the log; there are F1 \(item-read@rank0\)$"):
        find_finding(entries, "F2")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python /x/train.py --a b.py", "train.py"),
        ("torchrun --nproc-per-node 2 -m pkg.train", "pkg.train"),
        ("./run.sh 3", "run.sh"),
        ("/usr/bin/tool it's", "tool"),
        ("", ""),
    ],
)
def test_commands_of_one_script_are_one_program(command, name):
    assert script_of(command) == name


def test_two_programs_have_parts_of_their_own():
    first, second = recorded(1, ("F1", "loader", 0.3)), recorded(2, ("F1", "graph", 0.2), program="python serve.py")
    programs = tell_programs([*first, *second, decided(3, "loader", "keep", "")])
    assert [(each.name, len(each.findings), len(each.notes)) for each in programs] == [
        ("train.py", 1, 1),
        ("serve.py", 1, 0),
    ]


def test_a_page_that_is_passed_on_names_no_folder_user_or_secret():
    content = logs(
        *recorded(1, ("F1", "loader", 0.3)),
        tried(
            2, "loader", "data=/home/alice/set", None, "reject", reason="see /home/alice/out/loss.txt and ../b/c.csv"
        ),
        decided(3, "loader", "reject", "asked alice@example.com, @bob: 12 samples/s, CPU/GPU"),
        faults=("/home/alice/traces/traceq-log.jsonl: line 3 is left out: it is damaged",),
    )
    page = blocks_to_markdown(compose_log(hide_places(content)))
    assert not [word for word in ("alice", "/home", "hf_Qw", "/data", "out/", "b/c") if word in page]
    for kept in (
        "python train.py --data imagenet",
        "see loss.txt and c.csv",
        "12 samples/s, CPU/GPU",
        "traceq-log.jsonl: line 3",
    ):
        assert kept in page
    assert "@bob" not in page
    text = blocks_to_text(compose_log(content), 100)
    assert "/home/alice/proj/train.py" in text
