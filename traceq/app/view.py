"""The results of use cases: plain data, and a document in each format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Generic, TypeVar

from traceq.common.files import atomic_write
from traceq.reports import SUFFIXES
from traceq.reports.document import Block
from traceq.reports.renderers.to_text import WIDTH, blocks_to_text

T = TypeVar("T")


class View(ABC, Generic[T]):
    """The result of a use case, which can be rendered in several formats; `content` is its plain data."""

    def __init__(self, content: T) -> None:
        self.content = content

    @abstractmethod
    def blocks(self) -> Iterable[Block]:
        """Return the blocks of the document from the result, for plain text."""

    def markdown_blocks(self) -> Iterable[Block]:
        """Return the blocks of the document for Markdown, which may have sections that fold."""
        return self.blocks()

    def html_blocks(self) -> Iterable[Block]:
        """Return the blocks of the document for HTML, which may have drawings and sections that fold."""
        return self.blocks()

    @abstractmethod
    def to_json(self) -> str:
        """Return the result as JSON text, for programs."""

    def to_text(self, width: int = WIDTH, *, colour: bool = False) -> str:
        """Return the result as plain text in lines of at most `width` columns, as the command prints it."""
        return blocks_to_text(self.blocks(), width, colour=colour)

    def to_markdown(self, pictures: Mapping[str, str] | None = None) -> str:
        """Return the result as Markdown for GitHub, GitLab and Jira.

        `pictures` are file names of charts beside it, by name of chart; None for no pictures.
        """
        # The sections of reports, which text does without, take 100 ms to import.
        from traceq.reports.renderers.to_markdown import blocks_to_markdown

        return blocks_to_markdown(self.markdown_blocks(), pictures=pictures)

    def to_html(self) -> str:
        """Return the result as a single HTML page that loads no other files."""
        # Its templates take 35 ms to import.
        from traceq.reports.renderers.to_html import html_of

        return html_of(self.html_blocks())

    def suffixes(self) -> Mapping[str, str]:
        """Return the names of formats by file suffix: {".html": "html", ...}."""
        return SUFFIXES

    def render(self, format_: str) -> str:
        """Return the result as text in the format: text, md, html or json."""
        documents: Mapping[str, Callable[[], str]]
        documents = {"text": self.to_text, "md": self.to_markdown, "html": self.to_html, "json": self.to_json}
        return documents[format_]()

    def save(self, path: str | Path) -> None:
        """Write the result to `path` in the format of its suffix: .html, .md, .json or .txt.

        The file is replaced in full or not at all. Raises ValueError for another suffix, StoreError when it cannot be
        written.
        """
        path = Path(path)
        format_ = self.suffixes().get(path.suffix.lower())
        if format_ is None:
            raise ValueError(f"{path}: no format has this suffix; known are {', '.join(self.suffixes())}")
        text = self.render(format_)
        with atomic_write(path) as file:
            file.write(text.encode())

    def __repr__(self) -> str:
        return self.to_text()
