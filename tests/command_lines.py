"""Command lines of traceq in texts, parsed as the program would."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click

from traceq.cli import main

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^(?:[$] )? *(traceq [^\n]+)$", re.MULTILINE)
# The title of what a command printed.
_TITLE = re.compile(r"^traceq \w+\n\n", re.MULTILINE)
# Where the shell takes over.
_SHELL = re.compile(r"\s(?:[|;<>]|&&|2>)")


def find_commands(page: str) -> Iterator[str]:
    """Yield the command lines of traceq in the fenced blocks of a Markdown page, up to a pipe or another command."""
    for language, block in _FENCED.findall(page):
        lines = _TITLE.sub("", block) if language == "text" else block
        for line in _COMMAND.findall(lines.replace("\\\n", " ")):
            yield _SHELL.split(line)[0]


def parse_command(line: str) -> click.Context:
    """Return the context of the command that the line calls, with its arguments parsed. Raises click's errors."""
    _, *words = shlex.split(line, comments=True)
    group = click.Context(main, info_name="traceq", **main.context_settings)
    name, command, rest = main.resolve_command(group, words)
    while isinstance(command, click.Group):
        group = click.Context(command, group, info_name=name)
        name, command, rest = command.resolve_command(group, rest)
    return command.make_context(name, rest, parent=group)
