"""Advice fits the program: whom a text is for shows where it stands, and nobody is told what is switched on."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template

import pytest
from click.testing import CliRunner
from failure_list import assert_none
from labelled.programs import FORBIDDEN, GIVEN, PROGRAMS, SWITCHED_ON, TRAINING
from msgspec.structs import replace

from traceq.cli import main
from traceq.common.text import markdown
from traceq.database.sql import shelved
from traceq.diagnosis.program import Program
from traceq.diagnosis.query import rule_query
from traceq.diagnosis.rules import registry
from traceq.diagnosis.rules.registry import RULES
from traceq.diagnosis.rules.shared.collectives import describe_collectives
from traceq.diagnosis.rules.shared.remedies import all_remedies, remedy_for

QUERIES = {name: rule_query(name) for name in shelved("diagnosis/rules")}
# Of rules that are for training, or that found the backward pass.
OF_TRAINING = {
    "rescale_learning",
    "gradients_early",
    "gradients_fewer_bytes",
    "gradients_less_often",
    "join_gradients",
    "fused_optimizer",
}


def misfits(whom, name):
    """Words of a remedy that are not for this program."""
    text = remedy_for(PROGRAMS[whom], name, **GIVEN)
    wrong = [FORBIDDEN[whom]]
    if (not PROGRAMS[whom].trains or not PROGRAMS[whom].kind) and name not in OF_TRAINING:
        wrong.append(TRAINING)
    for words in wrong:
        if found := words.search(text):
            yield f"{name} says {found[0]!r} to {whom}: {text}"


def test_every_remedy_fits_every_program():
    assert_none(wrong for whom in PROGRAMS for name in all_remedies() for wrong in misfits(whom, name))


@pytest.mark.parametrize(("feature", "word"), SWITCHED_ON)
def test_what_is_switched_on_is_not_asked_for(feature, word):
    training = PROGRAMS["PyTorch, training"]
    program = replace(
        training,
        modes=training.modes | {feature},
        features=training.features | {feature},
        frameworks=training.frameworks | {feature},
    )
    for name in all_remedies():
        if name not in ("fused_attention", "half_products", "half_products_old", "expandable"):
            assert not re.search(word, remedy_for(program, name, **GIVEN)), name


def is_known(variant):
    kinds = {program.kind for program in PROGRAMS.values()} - {""}
    parallel = {"ddp", "fsdp", "megatron", "deepspeed", "server", "amd", "any"}
    states = ("", "before_compile", "of_llvm", "graphs", "pool", "compiled", "training", "inference", "channels_last")
    kind, _, state = variant.partition("_with_") if "_with_" in variant else variant.partition("_")
    return variant in kinds or (state in states and (variant in parallel or kind in kinds))


def test_every_remedy_has_a_text_for_everybody_and_no_unknown_variant():
    unknown = [f"{name}: {each}" for name in all_remedies() for each in all_remedies()[name] if not is_known(each)]
    assert_none(
        unknown + [f"{name}: none for everybody" for name in all_remedies() if "any" not in all_remedies()[name]]
    )


def test_every_remedy_is_used():
    package = Path(registry.__file__).parent
    texts = "".join(path.read_text("utf-8") for path in package.rglob("*") if path.suffix in (".sql", ".py"))
    assert [name for name in all_remedies() if not re.search(rf"['\"]{name}['\"]", texts)] == []


def test_findings_name_the_deed():
    headers = {rule: QUERIES[rule].header for rule in RULES if rule in QUERIES}
    advising = {rule: each for rule, each in headers.items() if "fix" in each and not {"remark", "remarks"} & set(each)}
    assert_none(f"{rule}: no heading" for rule, each in advising.items() if not each.get("heading"))


def test_names_that_remedies_need_are_known():
    words = Program().words | GIVEN
    for name, texts in all_remedies().items():
        for text in texts.values():
            assert set(Template(text).get_identifiers()) <= set(words), name


def test_all_remedies_are_printed():
    printed = CliRunner().invoke(main, ["rules", "advice"]).stdout
    assert_none(
        f"{name}, {variant}"
        for name, texts in all_remedies().items()
        for section in [printed.partition(f"\n## {name.replace('_', ' ')}\n")[2].partition("\n## ")[0]]
        for variant, text in texts.items()
        if f"| {variant.replace('_', ' ')} | {markdown(Template(text).safe_substitute(Program().words))}" not in section
    )
    rules = re.findall(r"^\| ([a-z0-9-]+) \| [a-z_, ]+ \| (.*) \|$", printed, re.MULTILINE)
    assert {name.replace("-", "_") for name, _ in rules} >= {
        name for name, query in QUERIES.items() if "title" in query.header
    }
    assert dict(rules)["launch-latency"] == "[launch less](#launch-less)"


@pytest.mark.parametrize(
    ("program", "kept"),
    [
        (Program(), "ntp"),
        (Program(frameworks=frozenset({"PyTorch"}), vendors=frozenset({"amd"})), "p"),
        (Program(frameworks=frozenset({"JAX"})), "nt"),
        (Program(frameworks=frozenset({"JAX"}), vendors=frozenset({"amd"})), ""),
    ],
)
def test_references_are_about_the_program(program, kept):
    addresses = {
        "n": "https://docs.nvidia.com/cuda/",
        "t": "https://developer.nvidia.com/blog/cuda-graphs/",
        "p": "https://docs.pytorch.org/docs/stable/notes/cuda.html",
    }
    assert program.about_it(addresses.values()) == tuple(addresses[each] for each in kept)


@pytest.mark.parametrize(
    ("ops", "words"), [("unknown", "26 collectives of unknown kind per step"), ("all_reduce", "26 all_reduce per step")]
)
def test_collectives_of_unknown_kind_are_called_that(ops, words):
    assert describe_collectives({"per_step": 26, "ops": ops, "bytes": None, "group_size": None}) == words
