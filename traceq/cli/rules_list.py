"""traceq rules list: the names and titles of all rules."""

from __future__ import annotations

from pathlib import Path

import click

from traceq.cli._options import rules_option
from traceq.common.text import printable


@click.command("list", short_help="List the rules, in the order in which they are served.")
@rules_option
@click.option("--format", "format_", type=click.Choice(["text", "md"]), default="text", help="[default: text]")
def list_rules(rules: tuple[Path, ...], format_: str) -> None:
    """List the rules, in the order in which they are served.

    Of two rules that see the same time, the one that stands first here owns it. In Markdown the manual pages of all rules
    as one page.
    """
    from traceq.diagnosis import user_rules

    found = user_rules.rules(rules)
    if format_ == "md":
        from traceq.diagnosis.rules_page import handbook

        click.echo(handbook(found), nl=False)
        return
    width = max(len(each.name) for each in found)
    for each in found:
        click.echo(f"{each.name.ljust(width)}  {printable(each.manual.title)}")
