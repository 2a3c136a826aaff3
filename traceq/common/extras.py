"""The commands that install packages of optional features."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from traceq.errors import MissingTool

# The extras of pyproject.toml that messages name: each requirement as a word for a shell.
_REQUIREMENTS = {
    "cluster": ("'distributed>=2024.8'",),
    "frames": ("'pandas>=2.2'",),
    "mcp": ("'mcp>=2.3,<3'", "'uvicorn>=0.31.1'"),
    "plots": ("'matplotlib>=3.8'",),
    "pyspy": ("'py-spy>=0.4'",),
    "s3": ("'s3fs>=2024.12'",),
    "shell": ("'prompt-toolkit>=3.0.43'", "'pygments>=2.17'"),
}


def install_command(extra: str) -> str:
    """Return the pip command that installs the packages of the extra, without traceq itself."""
    return f"pip install {' '.join(_REQUIREMENTS[extra])}"


def import_extra(module: str, extra: str, wanted: str) -> ModuleType:
    """Import a module of an optional extra. Raises MissingTool if it is not installed, with the command to install it.

    `wanted` names what needs the module, in the plural, for that message.
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise MissingTool(f"{wanted} need {package}, the extra {extra} of traceq: {install_command(extra)}") from error
