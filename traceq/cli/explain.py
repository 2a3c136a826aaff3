"""traceq explain: the manual page of a rule."""

from __future__ import annotations

import difflib
from pathlib import Path

import click

from traceq.cli._options import rules_option
from traceq.common.text import printable


@click.command(short_help="Explain a rule: what it finds, how it is measured, what to try.")
@click.argument("rule")
@rules_option
def explain(rule: str, rules: tuple[Path, ...]) -> None:
    """Explain a rule: what it finds, why it matters, how it is measured, what to try.

    RULE is a name that `traceq rules list` prints and findings carry.

    \b
    Examples:
      traceq explain synchronous-loader
    """  # noqa: D301 - click wants the backspace itself
    from traceq.diagnosis import user_rules
    from traceq.diagnosis.rules_page import UNPROVEN
    from traceq.errors import NoSuchRule

    known = {each.name: each for each in user_rules.rules(rules)}
    wanted = rule.split("@", maxsplit=1)[0].split(":", maxsplit=1)[0].lower().replace("_", "-")
    if wanted not in known:
        close = difflib.get_close_matches(wanted, known, n=3, cutoff=0.4)
        hint = f"did you mean: {', '.join(close)}?" if close else "`traceq rules list` prints the names"
        raise NoSuchRule(f"no rule is called {rule!r}; {hint}")
    page = known[wanted].manual
    unproven = f"{UNPROVEN}\n\n" if known[wanted].unproven else ""
    text = f"{wanted}: {page.title}\n\n{unproven}{page.text}".rstrip()
    click.echo("\n".join(map(printable, text.split("\n"))))
