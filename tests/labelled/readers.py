"""What a rule says of a trace, said to the users of other programs: whether its words fit them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from labelled.programs import FORBIDDEN, PROGRAMS, TRAINING
from traceq.database.query import Setting
from traceq.diagnosis.claim import Claim
from traceq.diagnosis.finding import Finding, Observation
from traceq.diagnosis.judge import _judge_subject
from traceq.diagnosis.query import RuleQuery, Workspace
from traceq.diagnosis.rules.registry import Rule
from traceq.diagnosis.subject import Subject

READERS = ("PyTorch, training, graphs", "PyTorch, inference", "vLLM", "JAX", "CuPy", "OpenMP", "HIP C++", "unknown")
# What is not the rule's own words.
NAMES = "select distinct name from cpu_slice union select distinct name from gpu_slice"
# Rules that speak of training, whoever reads them.
TRAINED = {
    *("redundant-copy", "gradient-overlap", "small-messages", "same-stream-collective", "host-communication"),
    "parallelism-choices",
    *("allocation-leak", "optimizer-memory", "out-of-memory"),
}


def misfits(subject: Subject, only: tuple[Rule, ...]) -> Iterator[str]:
    """List the texts of the rule that are broken sentences, or speak of another program than the reader's."""
    found = subject.connection.execute(NAMES).fetchall()
    names = sorted((name for (name,) in found if name), key=len, reverse=True)
    workspace = Workspace(subject.connection, subject.trace_id, subject.workspace.device)
    remembering = _Remembering(
        **asdict(subject) | {"workspace": workspace, "_of_claims": {}, "_culprits": {}, "_common": {}}
    )
    for reader in READERS:
        judged = _judge_subject(replace(remembering, program=PROGRAMS[reader]), only)
        yield from (f"fails for {reader}: {each.error}" for each in judged.failed)
        for each in (*judged.every_finding, *judged.observations):
            yield from (f"says to {reader} {wrong}: {each.fix}" for wrong in _misfits(each, reader, names))
    workspace.drop()


class _Remembering(Subject, frozen=True):
    """A subject that makes each claim once: what differs from reader to reader are the words."""

    _claims: dict[tuple[Any, ...], Claim | None] = msgspec.field(default_factory=dict)

    def _claim(self, query: RuleQuery, settings: Mapping[str, Setting], *, is_own: bool = True) -> Claim | None:
        key = (query.text, *sorted((self.settings(query) | settings).items()))
        if key not in self._claims:
            self._claims[key] = super()._claim(query, settings, is_own=is_own)
        return self._claims[key]


def _misfits(said: Finding | Observation, reader: str, names: list[str]) -> Iterator[str]:
    if re.search(r"  |\{\{|\{%|%\}", said.fix):
        yield "two blanks or half a template"
    if len(said.deed) > 200:
        yield "a first clause of more than 200 characters"
    if said.fix.count("`") % 2:
        yield "an odd number of backquotes"
    if reader == "unknown":
        return
    text = f"{said.title} {said.fix} {getattr(said, 'wrong_if', '')} {getattr(said, 'confidence_reason', '')}"
    for name in names:
        text = text.replace(name, "")
    text = re.sub(r"traceq\.annotate\S*|torch\.profiler\S*", "", text)
    if other := FORBIDDEN[reader].search(text):
        yield f"{other[0]!r}"
    if "training" not in PROGRAMS[reader].workloads and said.rule not in TRAINED and (other := TRAINING.search(text)):
        yield f"{other[0]!r}"
