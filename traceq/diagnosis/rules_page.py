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
first. `traceq explain RULE` prints one page; this one is what `traceq rules list --rules extra --format md` prints. How to add a
rule: [writing-rules.md](writing-rules.md); how well they judge: [accuracy.md](accuracy.md).

Rules marked *extra* have not been right of any labelled real trace yet. They are asked with `--rules extra`, change nothing of
what the others say, and what they find is of low confidence and stands apart. Rules marked *host* are asked where no GPU works
([decision 0031](decisions/0031-packs.md)).

"""


_JOBS = """
## Rules of jobs

Asked of several ranks together, once for each job: a finding is on a rank, a host, a stage, a group, or all ranks, and saves
what the replay of the job says. Where a job could be judged, late-rank, rank-imbalance and waiting-not-network are not asked
of its ranks one by one. Terms: [metrics.md](metrics.md#jobs-job-job_rank-collective_match-straggler).

"""

_EXTRA = (
    "Pack: extra. No labelled real trace has shown yet that this rule is right: it is asked with `--rules extra`, what it finds"
    " is of low confidence and never stands first."
)
_HOST = "Pack: host. It is asked of programs for which no GPU works."


def of_pack(rule: Rule) -> str:
    """When a rule is asked that is not of the pack default; empty of others."""
    return " ".join(text for text, is_of_it in ((_HOST, rule.is_of_host), (_EXTRA, rule.is_extra)) if is_of_it)


def handbook(rules: Sequence[Rule]) -> str:
    """All manual pages in Markdown, with a table of contents."""
    lines = [f"* [{each.name}](#{each.name}): {_words(each.manual.title)}{_pack(each)}" for each in rules]
    return _INTRODUCTION + "\n".join(lines) + "\n" + "".join(map(_page, rules)) + _of_jobs()


def _pack(rule: Rule) -> str:
    return "" if rule.pack == "default" else f" ({rule.pack})"


def _of_jobs() -> str:
    """What is asked of several ranks together."""
    pages = [f"* **{name}**: {_words(page(name))}\n" for name in RULES_OF_JOBS]
    return _JOBS + "".join(pages)


def _page(rule: Rule) -> str:
    pack = f"{text}\n\n" if (text := of_pack(rule)) else ""
    text = "\n".join(_sections(rule.manual.text))
    said = example(rule.name)
    shown = f"**Example.** {_words(said)}\n\n" if said else ""
    predicted = on_predictions(rule.name)
    checked = f"**Predictions checked.** {predicted}\n\n" if predicted else ""
    return f"\n## {rule.name}\n\n{_words(rule.manual.title)}.\n\n{pack}{shown}{checked}{text}\n"


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
