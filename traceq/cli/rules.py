"""traceq rules: list the rules, and test how well they judge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import click

from traceq.cli._group import LazyGroup


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
