"""What CI runs of the installed traceq (.ci/every_command.py), so that a new command is not missed until then."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import click
import pytest

from traceq.cli import main

SCRIPT = Path(__file__).resolve().parents[1] / ".ci" / "every_command.py"


def walk(command, path=()):
    if not isinstance(command, click.Group):
        yield " ".join(path)
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        yield from walk(command.get_command(context, name), (*path, name))


@pytest.fixture(scope="module")
def calls():
    spec = importlib.util.spec_from_file_location("every_command", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [case.command for case in module.CASES]


@pytest.mark.parametrize("command", list(walk(main)))
def test_each_command_has_a_case(command, calls):
    assert any(f"{call} ".startswith(f"{command} ") for call in calls)
