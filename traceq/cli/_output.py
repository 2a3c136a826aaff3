"""What a command writes: to a file, or as this terminal can show it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

if TYPE_CHECKING:
    from collections.abc import Iterable

    from traceq.app.view import View
    from traceq.reports.document import Block

# Where nothing says how wide lines may be: in files and pipes.
_WIDTH = 100


class _ToText(Protocol):
    def __call__(self, width: int, *, colour: bool) -> str: ...


def write_view(view: View[Any], format_: str, output: Path | None) -> None:
    """Write a result in one of its formats; as text in the width and colours of the terminal."""
    if format_ == "text":
        write_text(view.to_text, output)
    else:
        write(view.render(format_), output)


def write_text(to_text: _ToText, output: Path | None) -> None:
    """Write a text in the width and colours of the terminal."""
    width, colour = terminal() if output is None else (_WIDTH, False)
    write(to_text(width, colour=colour), output, colour=colour)


def write_blocks(blocks: Iterable[Block]) -> None:
    """Write a document to stdout as text."""
    from traceq.reports.renderers.to_text import text_of

    width, colour = terminal()
    write(text_of(blocks, width, colour=colour), None, colour=colour)


def write(text: str, output: Path | None, *, colour: bool = False) -> None:
    """Write to `output` if it is given, else to stdout, with question marks for what the terminal cannot show.

    With `colour` its codes go to stdout even where that is no terminal.
    """
    if output is None:
        encoding = sys.stdout.encoding or "utf-8"
        shown = text.encode(encoding, "replace").decode(encoding)
        if _is_too_long(shown):
            click.echo_via_pager(shown, color=colour or None)
        else:
            click.echo(shown, nl=False, color=colour or None)
        return
    from traceq.common.files import atomic_write

    with atomic_write(output) as file:
        file.write(text.encode())


def _is_too_long(text: str) -> bool:
    """Whether the text goes through a pager: stdout is a terminal, the text is longer than that, and PAGER is not empty."""
    if not sys.stdout.isatty() or os.environ.get("PAGER") == "":
        return False
    return text.count("\n") >= shutil.get_terminal_size().lines


def terminal() -> tuple[int, bool]:
    """The columns that stdout has, and whether it shows colours.

    COLUMNS says how wide it is, whatever it is. NO_COLOR forbids colours, FORCE_COLOR (but for 0) demands them;
    else there are colours on a terminal that is not dumb.
    """
    is_terminal = sys.stdout.isatty()
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and int(said):
        width = int(said)
    else:
        width = shutil.get_terminal_size((_WIDTH, 0)).columns if is_terminal else _WIDTH
    return width, _colours(is_terminal=is_terminal)


def _colours(*, is_terminal: bool) -> bool:
    # Of both, NO_COLOR wins: so it does in Python itself.
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return is_terminal and os.environ.get("TERM") != "dumb"
