"""An agent with nothing but the tools answers ten questions about five traces as the raw files do."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import lazy_import
import pytest
from golden import Golden

lazy_import.module("mcp")

import agent_eval  # noqa: E402 - where the SDK is installed

ROOT = Path(__file__).parents[2]
BEGIN, END = "<!-- eval -->\n", "\n<!-- end of eval -->"
# The budget of an answer, and of all answers to one question.
MOST_CALLS, MOST_CHARACTERS = 4, 12_000


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    return agent_eval.answer_questions(tmp_path_factory.mktemp("eval"))


@pytest.mark.parametrize("number", range(len(agent_eval.QUESTIONS)))
def test_the_answer_is_true(answered, number):
    each = answered[number]
    assert each.is_right, f"{each.question.text} {each.answer}, but it is {each.truth}"


def test_each_question_takes_few_calls_and_little_to_read(answered):
    for each in answered:
        assert 1 <= len(each.calls) <= MOST_CALLS, each.question.text
        assert each.characters <= MOST_CHARACTERS, each.question.text


def test_ten_questions_are_about_five_traces_and_use_every_tool_but_the_whole_report(answered):
    assert len(answered) == 10
    assert {tool for each in answered for tool in each.calls} == {"open", "finding", "sql", "whatif", "compare"}
    tree = ast.parse((ROOT / "tests" / "mcp" / "agent_eval.py").read_text("utf-8"))
    named = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
    assert named >= {"NSYS", "KINETO", "CPU", "ROCM", "MEMORY"}


def test_over_http_the_answers_are_the_same(answered, tmp_path):
    over_http = agent_eval.answer_questions(tmp_path, over_http=True)
    assert [each.answer for each in over_http] == [each.answer for each in answered]
    assert all(each.is_right for each in over_http)


def test_a_wrong_answer_is_noticed(answered):
    """With the truth of another question no answer is right; nor is a number that is a tenth off."""
    for each, other in zip(answered, [*answered[1:], answered[0]], strict=True):
        try:
            agrees = each.question.agree(each.answer, other.truth)
        except (TypeError, AttributeError):
            agrees = False
        assert not agrees, each.question.text
    first = answered[0]
    assert not first.question.agree((first.answer[0], first.answer[1] * 1.1), first.truth)


def test_what_is_true_is_computed_without_traceq():
    tree = ast.parse((ROOT / "tests" / "mcp" / "raw_truth.py").read_text("utf-8"))
    imported = {
        each.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names
    }
    imported |= {node.module.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported - sys.stdlib_module_names == set()


def test_the_table_of_the_documentation_is_what_the_script_prints(answered, request):
    page = (ROOT / "docs" / "agents.md").read_text("utf-8")
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    # A size may differ by a digit where sums of doubles do.
    rounded = [each._replace(characters=round(each.characters, -2)) for each in answered]
    table = re.sub(r"\bcharacters \|", "characters, about |", agent_eval.tabulate_answers(rounded), count=1)
    docs = Golden(ROOT / "docs", update=request.config.getoption("--update-golden"))
    docs.check("agents.md", f"{before}{BEGIN}{table}{END}{after}")
