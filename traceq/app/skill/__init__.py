"""The skill for agents: a page that says how to use traceq, for agents that read skills (SKILL.md)."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from traceq.common.files import atomic_write
from traceq.errors import StoreError

NAME = "traceq"


def read_skill() -> str:
    """Return the page as Markdown, with the name and the description that agents look for in its front matter."""
    return files(__name__).joinpath("SKILL.md").read_text("utf-8")


def install_skill(folder: Path) -> Path:
    """Write the page to the folder of an agent's skills, as traceq/SKILL.md, and return its path.

    An earlier page is replaced. Raises StoreError if it cannot be written.
    """
    page = folder / NAME / "SKILL.md"
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{page.parent}: cannot be made: {error.strerror}; choose another folder") from error
    with atomic_write(page) as file:
        file.write(read_skill().encode())
    return page
