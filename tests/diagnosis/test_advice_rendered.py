"""What rules say of their cases, said to other programs: every branch that a case reaches, in whole sentences."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from labelled.programs import FORBIDDEN, PROGRAMS, TRAINING
from labelled.rule_cases import database, ending, first_found

from traceq.diagnosis.judge import judge_subject, subjects
from traceq.diagnosis.query import Workspace
from traceq.diagnosis.rules.registry import RULES

WHOM = ("PyTorch, training, graphs", "PyTorch, inference", "vLLM", "JAX", "CuPy", "OpenMP", "HIP C++", "unknown")
# What is not the rule's own words.
NAMES = "select distinct name from cpu_slice union select distinct name from gpu_slice"
TRAINED = {
    *("redundant-copy", "gradient-overlap", "small-messages", "same-stream-collective", "host-communication"),
    "parallelism-choices",
    *("allocation-leak", "optimizer-memory"),
}


@pytest.mark.sample(15)
@pytest.mark.parametrize("rule", RULES)
def test_it_finds_its_case_and_fits_the_program(rule, tmp_path):
    with database(rule, first_found(rule), tmp_path) as (connection, only):
        subject, *_ = subjects(connection)
        assert ending(judge_subject(subject, only)) == "found"
        names = sorted((name for (name,) in connection.execute(NAMES).fetchall() if name), key=len, reverse=True)
        for whom in WHOM:
            workspace = Workspace(connection, subject.trace_id, subject.workspace.device)
            other = replace(subject, program=PROGRAMS[whom], workspace=workspace, _worst={}, _culprits={})
            judged = judge_subject(other, only)
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
