"""traceq explain: the manual page of a rule."""

from __future__ import annotations

import difflib
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from traceq.cli import completion
from traceq.cli._options import rules_option, within_limits
from traceq.common.text import printable
from traceq.diagnosis.record import EXTRA

if TYPE_CHECKING:
    from traceq.diagnosis.rules.registry import Rule

_PLACE = re.compile(r"[EeFf]\d+")
# Findings of a trace: more than any has.
_EVERY = 1_000


@click.command(short_help="Explain a rule: what it finds, how it is measured, what to try.")
@click.argument("rule", shell_complete=completion.complete_rules)
@click.argument("source", required=False, metavar="[SOURCE_OR_DB]", shell_complete=completion.complete_files)
@rules_option
def explain(rule: str, source: str | None, rules: tuple[str | Path, ...]) -> None:
    """Explain a rule: what it finds, why it matters, how it is measured, what to try.

    RULE is a name from `traceq rules list` or from a finding. It can also be a finding (F1, E1 or its id), together with
    the trace or database it was found in.

    \b
    Examples:
      traceq explain synchronous-loader
      traceq explain F1 profile.duckdb
    """  # noqa: D301 - click wants the backspace itself
    from traceq.diagnosis import user_rules
    from traceq.diagnosis.job.judge import RULES, rule_page
    from traceq.errors import NoSuchRule

    known = {found.name: found for found in user_rules.load_rules([*rules, EXTRA])}
    if source is not None:
        from traceq.app.report import report
        from traceq.diagnosis.packs import is_of_extra

        wanted_rules = [*rules, EXTRA] if is_of_extra(rule) else rules
        view = within_limits(report)(source, _EVERY, rules=wanted_rules, scope="document")
        of_jobs = {finding.rule for job in view.content.jobs for finding in job.findings}
        rule = rule if rule.lower() in of_jobs else view.finding(rule).rule
    elif _PLACE.fullmatch(rule):
        raise click.UsageError(f"{rule} is a finding: name its trace or database, as in traceq explain {rule} TRACE.")
    wanted = rule.split("@", maxsplit=1)[0].split(":", maxsplit=1)[0].lower().replace("_", "-")
    pages = [_print_page(known[wanted])] if wanted in known else []
    if wanted in RULES:
        pages.append(f"{wanted}: {RULES[wanted][0]} (of a job)\n\n{textwrap.fill(rule_page(wanted), 116)}")
    if not pages:
        close = difflib.get_close_matches(wanted, {**known, **RULES}, n=3, cutoff=0.4)
        hint = f"did you mean: {', '.join(close)}?" if close else "`traceq rules list` prints the names"
        raise NoSuchRule(f"no rule is called {rule!r}; {hint}")
    click.echo("\n".join(map(printable, "\n\n".join(pages).split("\n"))))


def _print_page(rule: Rule) -> str:
    """Return the manual page of the rule as text, with an example and the accuracy of its predictions where there are any."""
    from traceq.diagnosis.calibrated import describe_predictions
    from traceq.diagnosis.rules_page import describe_pack, example_of

    pack = f"{text}\n\n" if (text := describe_pack(rule)) else ""
    beside = {"A real trace": example_of(rule.name), "Predictions checked": describe_predictions(rule.name)}
    sections = [f"{head}\n{textwrap.indent(textwrap.fill(text, 116), '    ')}" for head, text in beside.items() if text]
    page = f"{rule.name}: {rule.manual.title}\n\n{pack}{rule.manual.text}".rstrip()
    return "\n\n".join([page, *sections])
