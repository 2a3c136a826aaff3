"""How to install what optional features need."""

from __future__ import annotations

# The extras of pyproject.toml that messages name: each requirement as a word for a shell.
_REQUIREMENTS = {
    "cluster": ("'distributed>=2024.8'",),
    "mcp": ("'mcp>=2.3,<3'",),
    "s3": ("'s3fs>=2024.12'",),
    "shell": ("'prompt-toolkit>=3.0.43'", "'pygments>=2.17'"),
}


def install_command(extra: str) -> str:
    """The command that installs the packages of an extra, wherever traceq itself was installed from."""
    return f"pip install {' '.join(_REQUIREMENTS[extra])}"
