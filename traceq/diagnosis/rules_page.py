"""Pages about all rules, in Markdown: their manual, their thresholds, and what they advise."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby
from string import Template
from typing import TYPE_CHECKING

from traceq.common.text import markdown
from traceq.database.sql import shelved
from traceq.diagnosis.calibrated import describe_predictions
from traceq.diagnosis.job.judge import RULES as RULES_OF_JOBS
from traceq.diagnosis.job.judge import rule_page
from traceq.diagnosis.manual import SECTIONS
from traceq.diagnosis.program import Program
from traceq.diagnosis.query import all_thresholds, rule_query
from traceq.diagnosis.rules.registry import load_examples
from traceq.diagnosis.rules.shared.remedies import all_remedies

if TYPE_CHECKING:
    from traceq.diagnosis.rules.registry import Rule

_INTRODUCTION = """\
# Rules

What `traceq report` looks for, in the order in which rules claim time: time that two rules find belongs to the one
listed first. `traceq explain RULE` prints one page; this one is what `traceq rules list --rules extra --format md`
prints. How to add a rule: [writing-rules.md](writing-rules.md); how well they judge: [accuracy.md](accuracy.md).

Rules marked *extra* have not been right on any labelled real trace yet. They run with `--rules extra`, change nothing
in what the others say, and their findings have low confidence and are listed separately. Rules marked *host* run
where no GPU works ([decision 0031](decisions/0031-packs.md)). Rules marked *recordings* run by default on what traceq
recorded itself, as measured programs have confirmed them ([decision 0039](decisions/0039-recordings.md)).

"""


_JOBS = """
## Rules of jobs

These judge several ranks together, once for each job: a finding is on a rank, a host, a stage, a group, or all ranks,
and saves what the replay of the job says. If a job can be judged, late-rank, rank-imbalance and waiting-not-network
do not run on its ranks one by one. Terms: [metrics.md](metrics.md#jobs-job-job_rank-collective_match-straggler).

"""

_EXTRA = (
    "Pack: extra. No labelled real trace has confirmed this rule yet: it runs with `--rules extra`, and its "
    "findings have low confidence and are never listed first."
)
_RECORDINGS = "Pack: recordings. Of what traceq recorded itself it is asked by default."
_HOST = "Pack: host. It runs for programs that use no GPU."

_THRESHOLDS = """\
# Thresholds

The numbers that decide what the rules say, by file in `traceq/diagnosis/`. None is taken from a trace that
the rules are judged on: they come from what hardware, drivers and schedulers do, from definitions, or from what others published.
Names that end in `_ns` are nanoseconds, in `_bytes` bytes; numbers below 1 shares.
"""

_ADVICE = """\
# Advice by program

The advice in a report depends on the program: the same cause has different remedies in PyTorch, in CuPy, in C++ or in
a server. Rules name a remedy; a program gets the text for the first of its variants that the remedy has, and
otherwise the one for any program. Reports do not ask for what is already on (compilation, graphs, fused attention,
fused optimizers, 16 bits, DDP). Names are those of NVIDIA (CUDA, NCCL): programs on AMD's GPUs get those of HIP. A
rule that is for some programs does not run on the others; one without a remedy says the same to all.

| rule | for | remedies |
|---|---|---|
"""


def describe_pack(rule: Rule) -> str:
    """Return sentences that say when a rule of the packs host, extra or recordings is asked; "" for other rules."""
    packs = ((_HOST, rule.is_of_host), (_EXTRA, rule.is_extra), (_RECORDINGS, rule.is_for_recordings))
    return " ".join(text for text, is_of_it in packs if is_of_it)


def manual_page(rules: Sequence[Rule]) -> str:
    """Return the manual pages of the rules as one Markdown text, with a table of contents, and the list of rules of jobs."""
    lines = "".join(
        f"* [{rule.name}](#{rule.name}): {_escape(rule.manual.title)}"
        f"{'' if rule.pack == 'default' else f' ({rule.pack})'}\n"
        for rule in rules
    )
    of_jobs = "".join(f"* **{name}**: {_escape(rule_page(name))}\n" for name in RULES_OF_JOBS)
    return f"{_INTRODUCTION}{lines}{''.join(map(_manual_of_rule, rules))}{_JOBS}{of_jobs}"


def _manual_of_rule(rule: Rule) -> str:
    """Return the section on a rule in Markdown: title, pack, example, accuracy of its predictions, and manual page."""
    parts = [f"## {rule.name}", f"{_escape(rule.manual.title)}."]
    if pack := describe_pack(rule):
        parts.append(pack)
    if example := example_of(rule.name):
        parts.append(f"**Example.** {_escape(example)}")
    if predicted := describe_predictions(rule.name):
        parts.append(f"**Predictions checked.** {predicted}")
    texts = re.split(rf"^({'|'.join(SECTIONS)})$", rule.manual.text, flags=re.MULTILINE)
    for heading, body in zip(texts[1::2], texts[2::2], strict=True):
        parts.append(f"**{heading}.** " + " ".join(_escape(textwrap.dedent(body.strip("\n"))).split()))
    return "\n" + "".join(f"{part}\n\n" for part in parts)


def example_of(name: str) -> str | None:
    """Return a real trace and what a report says of it by the rule, "TRACE: TEXT"; None if no real trace triggers it."""
    found = load_examples().get(name)
    return f"{found['trace']}: {found['said'].replace('`', '')}" if found else None


def _escape(text: str) -> str:
    """Return the prose with a backslash before characters that Markdown takes for markup; addresses stay as they are."""
    return re.sub(r"(?<![\w/:.])(https?://\S+)|([*_<>|`])", lambda match: match[1] or f"\\{match[2]}", text)


def thresholds_page() -> str:
    """Return all thresholds as a Markdown text, a table for each file that declares some."""
    parts = [_THRESHOLDS]
    for place, of_place in groupby(all_thresholds(), lambda threshold: threshold.place):
        rows = [
            f"| `{threshold.name}` | {threshold.value:,} | {markdown(threshold.reason)} |" for threshold in of_place
        ]
        parts.append("\n".join([f"\n## {place}\n", "| threshold | value | because |", "|---|---|---|", *rows, ""]))
    return "".join(parts)


def advice_page() -> str:
    """Return all remedies as a Markdown text: which rules name them, and the text of each for each kind of program."""
    return "".join([_ADVICE, *_remedies_by_rule(), *_texts_of_remedies()])


def _remedies_by_rule() -> Iterator[str]:
    """Yield a row of a Markdown table for each rule: its name, the programs it is for, and links to remedies it names."""
    remedy = re.compile(rf"['\"]({'|'.join(all_remedies())})['\"]")
    for name in sorted(shelved("diagnosis/rules")):
        header = rule_query(name).header
        if "title" in header:
            links = [
                f"[{found.replace('_', ' ')}](#{found.replace('_', '-')})"
                for found in dict.fromkeys(remedy.findall(" ".join(header.values())))
            ]
            yield f"| {name.replace('_', '-')} | {header.get('for', 'all')} | {', '.join(links)} |\n"


def _texts_of_remedies() -> Iterator[str]:
    """Yield a section of Markdown for each remedy: a table of its texts by variant of program."""
    for name, texts in sorted(all_remedies().items()):
        yield f"\n## {name.replace('_', ' ')}\n\n| for | |\n|---|---|\n"
        for variant, text in texts.items():
            words = Template(text).safe_substitute(Program().words)
            yield f"| {variant.replace('_', ' ')} | {markdown(words) or '(nothing)'} |\n"
