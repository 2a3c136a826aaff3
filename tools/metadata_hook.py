"""Project URLs and the long description of a distribution, for hatchling (`[tool.hatch.metadata.hooks.custom]`).

A package index shows README.md away from its repository, where relative links lead nowhere. `TRACEQ_REPOSITORY_URL` in the
environment makes them absolute, at the tag of the version, and adds project URLs; the release workflow sets it. Without it
there are no URLs, links become their text, and pictures their description.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?!https?:|#)(?P<path>[^)\s]+)\)")


class Hook(MetadataHookInterface):
    """Fill the fields `readme` and `urls`, which pyproject.toml declares as dynamic."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Set `readme`, and `urls` if TRACEQ_REPOSITORY_URL is set."""
        repository = os.environ.get("TRACEQ_REPOSITORY_URL", "").rstrip("/")
        tag = f"v{metadata['version']}"
        text = Path(self.root, "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": long_description(text, repository, tag)}
        if repository:
            metadata["urls"] = project_urls(repository, tag)


def long_description(readme: str, repository: str, tag: str) -> str:
    """Return the text of README.md with relative links made absolute, at the tag.

    Without `repository` links become text. `repository` is a URL without a slash at its end, or empty.
    """

    def replaced(link: re.Match[str]) -> str:
        if repository:
            kind = "raw" if link["picture"] else "blob"
            return f"{link['picture']}[{link['text']}]({repository}/{kind}/{tag}/{link['path']})"
        return f"*{link['text']}*" if link["picture"] else link["text"]

    return _RELATIVE.sub(replaced, readme)


def project_urls(repository: str, tag: str) -> dict[str, str]:
    """Return the project's URLs by name, as a package index shows them; `tag` is the version's tag."""
    return {
        "Homepage": repository,
        "Documentation": f"{repository}/blob/{tag}/docs/README.md",
        "Changelog": f"{repository}/blob/{tag}/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }
