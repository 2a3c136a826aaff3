"""What rules say of their cases, said to other programs: every branch that a case reaches, in whole sentences."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import replace

import pytest
from builder import TraceBuilder
from labelled.programs import FORBIDDEN, PROGRAMS, TRAINING
from labelled.rule_cases import functions

from traceq.diagnosis.judge import judge_subject, subjects
from traceq.diagnosis.rules.registry import RULES, built_in

WHOM = ("PyTorch, training, graphs", "PyTorch, inference", "vLLM", "JAX", "CuPy", "OpenMP", "HIP C++", "unknown")
# What is not the rule's own words.
NAMES = "select distinct name from cpu_slice union select distinct name from gpu_slice"
TRAINED = {"redundant-copy", "gradient-overlap", "small-messages", "same-stream-collective", "host-communication"}


def cases():
    for rule in RULES:
        found = [name for name in functions(rule) if name.startswith("found")]
        yield pytest.param(rule, found[0], id=rule)


@pytest.mark.parametrize(("rule", "case"), list(cases()))
def test_it_fits_the_program(rule, case, tmp_path):
    trace = TraceBuilder()
    functions(rule)[case](trace)
    trace.build(tmp_path) if trace._others else trace.fill_all()
    only = [each for each in built_in() if each.name == rule.replace("_", "-")]
    with closing(trace._connection) as connection:
        names = sorted((name for (name,) in connection.execute(NAMES).fetchall() if name), key=len, reverse=True)
        for whom in WHOM:
            subject, *_ = subjects(connection)
            judged = judge_subject(replace(subject, program=PROGRAMS[whom]), only)
            assert not judged.failed, judged.failed
            for each in (*judged.findings, *judged.observations):
                text = (
                    f"{each.title} {each.fix} {getattr(each, 'wrong_if', '')} {getattr(each, 'confidence_reason', '')}"
                )
                for name in names:
                    text = text.replace(name, "")
                text = re.sub(r"traceq\.annotate\S*|torch\.profiler\S*", "", text)
                assert not re.search(r"  |\{\{|\{%|%\}", each.fix), each.fix
                assert len(each.deed) <= 200, each.deed
                assert each.fix.count("`") % 2 == 0, each.fix
                if whom != "unknown":
                    assert not FORBIDDEN[whom].search(text), (whom, FORBIDDEN[whom].search(text), text)
                if "training" not in PROGRAMS[whom].workloads and each.rule not in TRAINED and whom != "unknown":
                    assert not TRAINING.search(text), (whom, TRAINING.search(text), text)
