"""The files for CI that commands with a verdict write beside their document."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from traceq.cli._options import FILE, T, gather
from traceq.cli._output import write

if TYPE_CHECKING:
    from traceq.app.check import CiView


class CiFiles(NamedTuple):
    """Paths for JUnit XML, SARIF and a Code Quality report; None where a file is not wanted."""

    junit: Path | None
    sarif: Path | None
    code_quality: Path | None

    def write(self, view: CiView[Any]) -> None:
        """Write the wanted files from the result of the command."""
        for path, render in zip(self, (view.to_junit, view.to_sarif, view.to_code_quality), strict=True):
            if path is not None:
                write(render(), path)


def ci_options(junit_help: str) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Return a decorator that declares --junit, --sarif and --code-quality, and passes them as one argument `ci`."""

    def decorate(command: Callable[..., T]) -> Callable[..., T]:
        command = gather("ci", CiFiles, "junit", "sarif", "code_quality")(command)
        help_ = "Write a Code Quality report for GitLab."
        command = click.option("--code-quality", type=FILE, metavar="FILE", help=help_)(command)
        command = click.option("--sarif", type=FILE, metavar="FILE", help="Write SARIF 2.1.0.")(command)
        return click.option("--junit", type=FILE, metavar="FILE", help=junit_help)(command)

    return decorate
