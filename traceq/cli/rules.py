"""traceq rules: list the rules, and test how well they judge."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import click

from traceq.cli._group import LazyGroup
from traceq.cli._options import json_option, rules_option
from traceq.cli._output import write_json
from traceq.common.text import printable


class RuleCommands(LazyGroup):
    """The commands about rules."""

    lazy: ClassVar[Mapping[str, tuple[str, str]]] = {
        "list": ("traceq.cli.rules:list_rules", "List the rules, in order of precedence."),
        "thresholds": (
            "traceq.cli.rules:list_thresholds",
            "List the thresholds of the rules and where they come from.",
        ),
        "advice": ("traceq.cli.rules:list_advice", "List what the rules advise, by the kind of program."),
        "test": ("traceq.cli.rules_test:test_rules", "Test the rules against traces whose bottleneck is known."),
    }


@click.command(cls=RuleCommands, short_help="List the rules behind a report, or test them.")
def rules() -> None:
    """List the rules behind a report, or test them.

    To write your own rules, see docs/writing-rules.md.
    """


@click.command("list", short_help="List the rules, in order of precedence.")
@rules_option
@json_option("md, json: with the manual pages.", "md")
def list_rules(rules: tuple[str | Path, ...], format_: str) -> None:
    """List the rules, in order of precedence.

    If two rules find the same time, the one listed first owns it. A rule's pack is default; host, for traces without GPU
    work; extra, for rules that no labelled real trace has confirmed, run with --rules extra; or yours. Rules about jobs,
    which look at several ranks together, come last. Markdown has the manual pages of all rules on one page.
    """
    from traceq.diagnosis import user_rules
    from traceq.diagnosis.job.judge import RULES as RULES_OF_JOBS
    from traceq.diagnosis.job.judge import rule_page

    found = user_rules.load_rules(rules)
    if format_ == "md":
        from traceq.diagnosis.rules_page import manual_page

        click.echo(manual_page(found), nl=False)
        return
    if format_ == "json":
        content = [
            {
                "name": rule.name,
                "title": rule.manual.title,
                "pack": rule.pack,
                "text": rule.manual.text,
                "references": rule.manual.references,
                "of_job": False,
            }
            for rule in found
        ]
        content += [
            {"name": name, "title": title, "pack": "default", "text": rule_page(name), "references": [], "of_job": True}
            for name, (title, _) in RULES_OF_JOBS.items()
        ]
        write_json(content)
        return
    rows = [(rule.name, rule.pack, printable(rule.manual.title)) for rule in found]
    rows += [(name, "default", f"{title} (of a job)") for name, (title, _) in RULES_OF_JOBS.items()]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for name, pack, title in rows:
        click.echo(f"{name.ljust(widths[0])}  {pack.ljust(widths[1])}  {title}")


@click.command("thresholds", short_help="List the thresholds of the rules and where they come from.")
def list_thresholds() -> None:
    """List the thresholds of the rules of traceq and where they come from, as a Markdown page."""
    from traceq.diagnosis.rules_page import thresholds_page

    click.echo(thresholds_page(), nl=False)


@click.command("advice", short_help="List what the rules advise, by the kind of program.")
def list_advice() -> None:
    """List what the rules of traceq advise, by the kind of program, as a Markdown page."""
    from traceq.diagnosis.rules_page import advice_page

    click.echo(advice_page(), nl=False)
