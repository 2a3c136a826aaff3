""".ci/getting_started.py, which CI runs: it sees where docs/getting-started.md does something else than it says."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "getting-started.md").read_text("utf-8")


def script():
    spec = importlib.util.spec_from_file_location("getting_started", ROOT / ".ci" / "getting_started.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def page(*blocks):
    return "Text.\n\n" + "".join(f"{marks}```sh\n{code}```\n\nMore.\n\n" for marks, code in blocks)


def ran(text, folder):
    return script().run(script().blocks(text), folder, os.environ)


def test_every_block_of_the_page_that_is_no_output_is_run():
    kinds = re.findall(r"^```(\w*)\n", PAGE, re.MULTILINE)
    assert set(kinds) <= {"sh", "text", ""}
    found = script().blocks(PAGE)
    assert len(found) == kinds.count("sh")
    assert found[0].commands[:3] == (
        "python3 -m venv .venv\n",
        ". .venv/bin/activate\n",
        "pip install -c constraints.txt '.[torch]'\n",
    )
    assert len(re.findall(r"^<!-- (?:says|exits): ", PAGE, re.MULTILINE)) == sum(
        len(each.says) + (each.exits != {0}) for each in found
    )


def test_blocks_are_run_in_order_in_one_shell(tmp_path, capsys):
    text = page(
        ("", "mkdir a\ncd a\nexport NAME=value\n"), ("<!-- says: a value -->\n", 'echo "a \\\n  $NAME"   # why\n')
    )
    assert ran(text, tmp_path) == []
    out = capsys.readouterr().out
    assert re.findall(r"^\+ (.*)", out, re.MULTILINE) == ["mkdir a", "cd a", "export NAME=value", 'echo "a \\']
    assert len(re.findall(r"^  [\d.,]+ s$", out, re.MULTILINE)) == 4


@pytest.mark.parametrize(
    ("marks", "code", "wrong"),
    [
        ("<!-- exits: 0, 4 -->\n", "true\n(exit 4)\n", None),
        ("<!-- exits: 4 -->\n", "(exit 4)\n", None),
        ("<!-- exits: 4 -->\n", "true\n", "true\n  ended with 1"),
        ("<!-- exits: 0, 4 -->\n", "(exit 3)\n", "(exit 3)\n  ended with 3"),
        ("<!-- exits: 0, 4 -->\n", "(exit 4)\ntrue\n", "(exit 4)\n  ended with 4"),
        ("", "no-such-command --help\n", "no-such-command --help\n  ended with 127"),
        ("<!-- says: not this -->\n", "printf 'but that'\n", "printf 'but that'\n  does not say: not this"),
    ],
)
def test_what_differs_from_the_page_is_told(tmp_path, marks, code, wrong):
    assert ran(page(("", "true\n"), (marks, code), ("", "true\n")), tmp_path) == ([wrong] if wrong else [])


def test_a_command_that_fails_is_the_last_one(tmp_path):
    assert ran(page(("", "false\ntouch after\n")), tmp_path) == ["false\n  ended with 1"]
    assert not (tmp_path / "after").exists()


def test_only_what_the_page_installs_is_on_the_path(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "traceq").touch()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin")
    monkeypatch.setenv("PYTHONPATH", "somewhere")
    monkeypatch.setenv("TRACEQ_RULES", "some.sql")
    left = script()._environment(tmp_path)
    assert left["PATH"] == "/usr/bin"
    assert {"PYTHONPATH", "TRACEQ_RULES"}.isdisjoint(left)
