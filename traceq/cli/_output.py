"""Write the output of a command: to a file, or as this terminal can show it."""

from __future__ import annotations

import os
import shlex
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

# Pagers that show colours: less with -R, and those that hand the codes on to the terminal. On macOS `more` is a less without.
_COLOUR_PAGERS = frozenset({"less", "cat", "bat", "batcat", "moar", "moor", "ov"})


class _ToText(Protocol):
    """A function that renders a document as text, for lines of `width` columns, with or without colour codes."""

    def __call__(self, width: int, *, colour: bool) -> str: ...


def write_view(view: View[Any], format_: str, output: Path | None) -> None:
    """Write a result in one of its formats to `output` or stdout; text fits the terminal's width and colours."""
    if format_ == "text":
        write_text(view.to_text, output)
    else:
        write(view.render(format_), output)


def write_text(to_text: _ToText, output: Path | None) -> None:
    """Write the text that `to_text` makes for the terminal's width and colours; plain and 100 columns wide for a file."""
    width, colour = terminal_width_and_colour() if output is None else (_WIDTH, False)
    write(to_text(width, colour=colour), output, colour=colour)


def write_json(content: object) -> None:
    """Print plain data as indented JSON, without characters that could steer a terminal."""
    import msgspec

    from traceq.common.text import quiet_json

    click.echo(quiet_json(msgspec.json.format(msgspec.json.encode(content), indent=2).decode()))


def write_blocks(blocks: Iterable[Block]) -> None:
    """Print a document, given as blocks, on stdout as text."""
    from traceq.reports.renderers.to_text import blocks_to_text

    width, colour = terminal_width_and_colour()
    write(blocks_to_text(blocks, width, colour=colour), None, colour=colour)


def write(text: str, output: Path | None, *, colour: bool = False) -> None:
    """Write the text to the file `output`, else to stdout (in a pager if it is long), with ? for characters it cannot encode.

    With `colour` colour codes go to stdout even if that is no terminal.
    """
    if output is None:
        encoding = sys.stdout.encoding or "utf-8"
        shown = text.encode(encoding, "replace").decode(encoding)
        pager = _pager_name() if sys.stdout.isatty() and shown.count("\n") >= shutil.get_terminal_size().lines else None
        if pager is not None:
            _show_in_pager(shown, pager, colour=colour)
        else:
            click.echo(shown, nl=False, color=colour or None)
        return
    from traceq.common.files import atomic_write

    with atomic_write(output) as file:
        file.write(text.encode())


def _show_in_pager(text: str, pager: str, *, colour: bool) -> None:
    """Show the text in the pager, with colours only if it can show them or FORCE_COLOR demands them."""
    if colour and pager == "less":
        # click sets -R only where LESS is unset. It goes in front, as what the user set may end in the text of a prompt.
        os.environ["LESS"] = f"-R {os.environ.get('LESS', '')}".rstrip()
    click.echo_via_pager(text, color=colour and (pager in _COLOUR_PAGERS or _demands_colours()))


def _pager_name() -> str | None:
    """Return the name, without its path, of the pager that click uses; None if PAGER is empty or not a command."""
    said = os.environ.get("PAGER")
    try:
        words = shlex.split(said or "")
    except ValueError:
        return None
    return None if said == "" else Path(words[0]).name if words else "less"


def terminal_width_and_colour() -> tuple[int, bool]:
    """Return the number of columns of stdout, and whether to write colours.

    COLUMNS sets the width of anything. NO_COLOR forbids colours, FORCE_COLOR (except 0) demands them; otherwise a
    terminal that is not dumb gets them.
    """
    is_terminal = sys.stdout.isatty()
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and int(said):
        width = int(said)
    else:
        width = shutil.get_terminal_size((_WIDTH, 0)).columns if is_terminal else _WIDTH
    # Of both, NO_COLOR wins: so it does in Python itself.
    is_coloured = _demands_colours() or (is_terminal and os.environ.get("TERM") != "dumb")
    return width, is_coloured and not os.environ.get("NO_COLOR")


def _demands_colours() -> bool:
    """Return whether FORCE_COLOR demands colours."""
    return os.environ.get("FORCE_COLOR", "0") not in ("", "0")
