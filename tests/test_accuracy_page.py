"""README.md and docs/accuracy.md: figures of unseen traces come before those of known ones."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fixtures" / "make"))

from labelled import accuracy_page, real_page

from traceq.diagnosis.rules.registry import all_rules

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
PAGE = accuracy_page.PAGE.read_text("utf-8")


def blind_row(text):
    (row,) = re.findall(r"^\| \d+ that no rule was written for.*$", text, re.MULTILINE)
    return row


def test_both_have_the_same_figures_of_traces_that_no_rule_was_written_for():
    assert blind_row(README) == blind_row(PAGE)
    first, findings, high = (
        [int(each) for each in re.findall(r"\d+", cell)] for cell in blind_row(PAGE).split("|")[2:5]
    )
    assert sum(first) == 100
    assert sum(findings[1:]) == findings[0]
    assert sum(high[1:]) == high[0]


@pytest.mark.parametrize("text", [README, PAGE], ids=["README.md", "accuracy.md"])
def test_they_stand_above_what_was_reached_on_known_traces(text):
    reached = json.loads(real_page.REACHED.read_text("utf-8"))
    known = f"{reached['first_right']:.1%}".replace("%", " %")
    assert text.index(blind_row(text)) < text.index(known)
    assert "a fit to the traces" in " ".join(text.split())


def test_the_known_figures_of_the_readme_are_those_that_were_reached():
    (row,) = re.findall(r"^\| \d+ that were at hand.*$", README, re.MULTILINE)
    reached = json.loads(real_page.REACHED.read_text("utf-8"))
    shares = [f"{reached[each]:.1%}"[:-1] for each in ("first_right", "first_wrong", "findings_true", "high_true")]
    assert re.findall(r"([\d.]+) %", row) == shares


@pytest.mark.parametrize("text", [README, PAGE], ids=["README.md", "accuracy.md"])
def test_they_say_how_many_rules_no_labelled_trace_has_confirmed(text):
    extra = sum(rule.is_extra for rule in all_rules())
    told = re.findall(r"Of (\d+) rules, (\d+) have not been right of any labelled real trace", " ".join(text.split()))
    assert told == [(str(len(all_rules())), str(extra))]


def test_writing_the_page_anew_keeps_what_was_counted_by_hand():
    written, broken = accuracy_page.written("no case has this name", 1)
    assert broken == []
    assert blind_row(written) == blind_row(PAGE)
    assert written.index("<!-- blind: end -->") < written.index(real_page.BEGIN)


def test_the_blind_batches_of_the_readme_are_the_sum_of_those_of_the_page():
    (row,) = re.findall(r"^\| \d+ in two blind batches.*$", README, re.MULTILINE)
    counts = {"right": 0, "partly": 0, "wrong": 0}
    for cell in re.findall(r"^\| blind batch .*?\| (.*?) \|", PAGE, re.MULTILINE):
        for number, word in re.findall(r"(\d+) (right|partly|wrong)", cell):
            counts[word] += int(number)
    assert ", ".join(f"{number} {word}" for word, number in counts.items()) in row
    assert row.startswith(f"| {sum(counts.values())} in ")
