"""No text speaks to another program than the one it is said to: every rule's, the account's, and what would record what lacks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from failure_list import assert_none
from labelled.branches import said_by_module, said_by_template
from labelled.programs import GIVEN, PROGRAMS, words_of_others

import traceq
from traceq.database.sql import shelved
from traceq.diagnosis.query import rule_query
from traceq.diagnosis.rules.registry import all_rules
from traceq.diagnosis.rules.shared.late_host import REMEDIES
from traceq.diagnosis.rules.shared.remedies import remedy_for
from traceq.formats.capabilities import FORMATS, METRICS
from traceq.reports.sections.missing import how_to_capture
from traceq.reports.sections.triage import CAPTURES, add_command

PACKAGE = Path(traceq.__file__).parent
RULES = PACKAGE / "diagnosis/rules"
QUERIES = {name: query for name in shelved("diagnosis/rules") if (query := rule_query(name)).header}
# Texts that stand in reports, and those that only say why a rule says nothing.
SAID = ("fix", "reason", "wrong-if", "heading", "remark")
REFUSED = ("unknown", "absent", "unseen", "clean", "doubted", "refuted")
# Modules that make sentences, besides rules.
OTHERS = ("diagnosis/account/reasons.py", "diagnosis/rules/shared/*.py")
# Of programs of these only the profiler of PyTorch, or its emit_nvtx, records that.
OF_PYTORCH = {"operators", "shapes", "types", "flops", "allocations"}
# What these find shows a server.
OF_SERVERS = {"serving_host_gap", "decode_bandwidth", "decode_weights", "prefill_stalls_decode"}


def told_by_remedy(program, given):
    """Return the text of a remedy; all texts it can have where its name depends on the trace."""
    names = [value for values in given for value in values if isinstance(value, str)]
    return " ".join(remedy_for(program, name, **GIVEN) for name in names or REMEDIES)


def told_by_culprit(program, given):
    """Return all remedies that a culprit can choose, with the one for no culprit."""
    return told_by_remedy(program, [*given, REMEDIES])


def is_recorded_by(program, name):
    """Whether a trace in this format can be of the program."""
    if name == "chrome":
        return program.kind in ("", "pytorch", "vllm", "sglang", "tensorrt_llm", "jax", "xla", "tensorflow")
    if name == "xplane":
        return program.kind in ("jax", "xla", "tensorflow")
    return name == ("rocm" if program.is_amd else "nsys")


# What ways say is in a test of its own.
TELLERS = {"remedy": told_by_remedy, "remedied": told_by_culprit, "way": lambda *_: ""}


def is_asked_of(name, program, whom, needs):
    """Whether a rule can say anything to the program."""
    kinds = set(whom) - {"training", "model"}
    return not (
        (kinds and program.kind not in kinds)
        or ("training" in whom and not program.trains)
        or ("model" in whom and not program.runs_model)
        or (OF_PYTORCH & set(needs) and not program.may_be_pytorch)
        or ("phases" in needs and not program.runs_model)
        or (name in OF_SERVERS and not program.is_server)
    )


def misfits(where, whom, text, **about):
    """Words of a text that are not for this program."""
    for words in words_of_others(PROGRAMS[whom], **about) if text else ():
        if found := searched(words, text):
            around = re.sub(r"\s+", " ", text[max(0, found.start() - 50) : found.end() + 40].strip())
            yield f"{where} says {found[0]!r} to {whom}: {around}"


@cache
def searched(words, text):
    """The first of these words in a text: many programs are told the same."""
    return words.search(text)


def of_headers() -> Iterator[str]:
    for name, query in QUERIES.items():
        whom, needs = query.listed("for"), query.listed("needs")
        for called, program in PROGRAMS.items():
            if not is_asked_of(name, program, whom, needs):
                continue
            for key in (*SAID, *REFUSED):
                text = said_by_template(query.header.get(key, ""), program, TELLERS)
                about = {"is_refusal": key in REFUSED, "has_batches": "fetches" in needs}
                yield from misfits(f"{name}: {key}", called, text, **about)


def test_headers_speak_to_their_program():
    assert_none(of_headers())


def of_modules() -> Iterator[str]:
    rules = [path for path in RULES.glob("[!_]*/*.py") if path.parent.name != "shared"]
    for path in (*rules, *(each for pattern in OTHERS for each in PACKAGE.glob(pattern))):
        source = path.read_text("utf-8")
        whom = [each for call in re.findall(r"only_for\(([^)]*)\)", source) for each in re.findall(r'"(\w+)"', call)]
        for called, program in PROGRAMS.items():
            if is_asked_of(path.stem, program, whom, ()):
                for function, text in said_by_module(source, program, TELLERS):
                    yield from misfits(f"{path.stem}.{function}", called, text)


def test_functions_speak_to_their_program():
    assert_none(of_modules())


def of_ways() -> Iterator[str]:
    for form in FORMATS:
        for called, program in PROGRAMS.items():
            if program.kind and form.is_recorded and is_recorded_by(program, form.name):
                # of Python's lines only rules on Python ask
                for name in form.ways.keys() - {"python_lines", "python_frames"}:
                    words = form.way(name, of_pytorch=program.may_be_pytorch, of_amd=program.is_amd) or ""
                    yield from misfits(f"{form.name}: {name}", called, words, is_way=True)


def test_what_would_record_what_lacks_is_for_the_program():
    assert_none(of_ways())


def of_reports() -> Iterator[str]:
    for called, program in PROGRAMS.items():
        for form in FORMATS:
            if program.kind and form.is_recorded and is_recorded_by(program, form.name):
                told = {
                    metric: "".join(map(str, how_to_capture(metric, form.name, program)))
                    for metric in METRICS.keys() - {"python"}
                }
                told["the GPU"] = add_command("Record again", CAPTURES, form.name, program)
                for what, text in told.items():
                    yield from misfits(f"{form.name}, to record {what}", called, text, is_way=True)


def test_what_reports_tell_to_record_is_for_the_program():
    assert_none(of_reports())


def of_references() -> Iterator[str]:
    for rule in all_rules():
        for called, program in PROGRAMS.items():
            if program.kind and not program.may_be_pytorch:
                yield from (
                    f"{rule.name} refers {called} to {each}"
                    for each in program.about_it(rule.manual.references)
                    if re.search(r"pytorch\.org|github\.com/pytorch", each)
                )


def test_references_are_about_its_framework():
    assert_none(of_references())
