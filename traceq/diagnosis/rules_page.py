"""The manual pages of all rules as one page: docs/rules.md."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from traceq.diagnosis.calibrated import on_predictions
from traceq.diagnosis.job.judge import RULES as RULES_OF_JOBS
from traceq.diagnosis.job.judge import page
from traceq.diagnosis.manual import SECTIONS
from traceq.diagnosis.rules.registry import examples

if TYPE_CHECKING:
    from traceq.diagnosis.rules.registry import Rule

_INTRODUCTION = """\
# Rules

What `traceq report` looks for, in the order in which claims are served: time that two rules see belongs to the one that stands
first. `traceq explain RULE` prints one page; this one is what `traceq rules list --format md` prints. How to add a rule:
[writing-rules.md](writing-rules.md); how well they judge: [accuracy.md](accuracy.md).

"""


_JOBS = """
## Rules of jobs

Asked of several ranks together, once for each job: a finding is on a rank, a host, a stage, a group, or all ranks, and saves
what the replay of the job says. Where a job could be judged, late-rank, rank-imbalance and waiting-not-network are not asked
of its ranks one by one. Terms: [metrics.md](metrics.md#jobs-job-job_rank-collective_match-straggler).

"""

UNPROVEN = "Unproven: no real trace has triggered this rule yet, so what it finds is never of high confidence."


def handbook(rules: Sequence[Rule]) -> str:
    """All manual pages in Markdown, with a table of contents."""
    lines = [f"* [{each.name}](#{each.name}): {_words(each.manual.title)}" for each in rules]
    return _INTRODUCTION + "\n".join(lines) + "\n" + "".join(map(_page, rules)) + _of_jobs()


def _of_jobs() -> str:
    """What is asked of several ranks together."""
    pages = [f"* **{name}**: {_words(page(name))}\n" for name in RULES_OF_JOBS]
    return _JOBS + "".join(pages)


def _page(rule: Rule) -> str:
    unproven = f"{UNPROVEN}\n\n" if rule.unproven else ""
    text = "\n".join(_sections(rule.manual.text))
    said = example(rule.name)
    shown = f"**Example.** {_words(said)}\n\n" if said else ""
    predicted = on_predictions(rule.name)
    checked = f"**Predictions checked.** {predicted}\n\n" if predicted else ""
    return f"\n## {rule.name}\n\n{_words(rule.manual.title)}.\n\n{unproven}{shown}{checked}{text}\n"


def example(name: str) -> str | None:
    """What a report says of a real trace that triggers the rule; None where none has."""
    found = examples().get(name)
    return f"{found['trace']}: {found['said'].replace('`', '')}" if found else None


def _sections(text: str) -> Iterator[str]:
    parts = re.split(rf"^({'|'.join(SECTIONS)})$", text, flags=re.MULTILINE)
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        yield f"**{heading}.** " + " ".join(_words(textwrap.dedent(body.strip("\n"))).split())
        yield ""


def _words(text: str) -> str:
    """Prose in which Markdown sees no markup: names with underscores, stars and angles."""
    return re.sub(r"(?<![\w/:.])(https?://\S+)|([*_<>|`])", lambda match: match[1] or f"\\{match[2]}", text)
