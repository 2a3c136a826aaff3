"""Documents written for people: in the format that is asked for, to a file or as this terminal can show them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from traceq.cli.source import write
from traceq.cli.terminal import terminal

if TYPE_CHECKING:
    from traceq.reports.document import Block


def write_blocks(blocks: Iterable[Block], name: str, output: Path | None) -> None:
    """Write the blocks as text, md or html."""
    if name == "text":
        from traceq.reports.to_text import WIDTH, text_of

        width, colour = terminal() if output is None else (WIDTH, False)
        write(text_of(blocks, width, colour=colour), output, colour=colour)
    elif name == "md":
        from traceq.reports.to_markdown import markdown_of

        write(markdown_of(blocks), output)
    else:
        from traceq.reports.to_html import html_of

        write(html_of(blocks), output)
