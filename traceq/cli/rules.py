"""traceq rules: list the rules, and test how well they judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import click

from traceq.cli.group import LazyGroup


class _RulePaths(click.Path):
    """Paths, of which none is empty where the variable that lists them ends in a colon."""

    def split_envvar_value(self, rv: str) -> Sequence[str]:
        """The paths that a variable of the environment lists."""
        return [each for each in super().split_envvar_value(rv) if each]


rules_option = click.option(
    "--rules",
    multiple=True,
    type=_RulePaths(exists=True, path_type=Path),
    envvar="TRACEQ_RULES",
    metavar="FILE_OR_DIR",
    help="Rules of your own: an SQL file, or a directory of them; may be repeated.  [env: TRACEQ_RULES]",
)


class RuleCommands(LazyGroup):
    """The commands about rules."""

    lazy: ClassVar[Mapping[str, tuple[str, str]]] = {
        "list": ("traceq.cli.rules_list:list_rules", "List the rules, in the order in which they are served."),
        "test": ("traceq.cli.rules_test:test_rules", "Test the rules against traces whose bottleneck is known."),
    }


@click.command(cls=RuleCommands, short_help="List the rules behind a report, and test them.")
def rules() -> None:
    """List the rules behind a report, and test them.

    Rules of your own: docs/writing-rules.md.
    """
