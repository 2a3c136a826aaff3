"""docs/report.schema.json is written by hand: it is what traceq promises. Here it and the reports are held together."""

from __future__ import annotations

import copy
import json
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from handmade_job import RANKS, rank_trace
from jsonschema import Draft202012Validator
from msgspec.structs import replace
from test_renderers import CASES, report

import traceq
from traceq.diagnosis import finding
from traceq.health import verdict
from traceq.loading.ingest import ingest
from traceq.reports import flame, timeline, topics
from traceq.reports.model import SCHEMA_VERSION, HostStack, Report, TraceReport
from traceq.reports.renderers.to_json import to_json

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "report.schema.json").read_text("utf-8"))
SHAPES = SCHEMA["$defs"]
VALIDATOR = Draft202012Validator(SCHEMA)


@cache
def content(case):
    return json.loads(to_json(report(case)))


def objections(instance):
    return [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(instance)]


def test_the_schema_is_one_and_names_the_version_of_the_reports():
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$id"] == f"urn:traceq:report:{SCHEMA_VERSION}"
    assert SCHEMA["properties"]["schema_version"]["const"] == SCHEMA_VERSION


@pytest.mark.sample(4)
@pytest.mark.parametrize("case", CASES)
def test_reports_are_valid(case):
    assert objections(content(case)) == []


def test_a_report_on_a_job_is_valid(tmp_path):
    """One rank is late: findings, the critical path and the ranks are all there."""
    for rank in range(RANKS):
        (tmp_path / f"rank{rank}.json").write_text(rank_trace(rank, {1: 200}, begins_ns=1))
    ingest(tmp_path, tmp_path / "job.duckdb")
    whole = json.loads(traceq.report(tmp_path / "job.duckdb").to_json())
    assert objections(whole) == []
    (job,) = whole["jobs"]
    assert job["findings"]
    assert job["path"]
    assert job["collectives"]


GONE = object()

BROKEN = {
    "a missing key": ("traces.0.steps", GONE),
    "a missing key of a finding": ("traces.0.findings.0.fix", GONE),
    "a missing evidence": ("traces.0.findings.0.summary.rows", GONE),
    "a missing query": ("traces.0.queries.steps", GONE),
    "an unknown key": ("traces.0.timelines", []),
    "an unknown key of a step": ("traces.0.step_ledger.0.name", "x"),
    "an unknown section": ("traces.0.queries.devcies", "select 1"),
    "an unknown category": ("traces.0.ledger.0.category", "idle_coffee"),
    "an unknown category of a step": ("traces.0.step_ledger.0.parts_ns.idle_coffee", 1),
    "an unknown severity": ("traces.0.notes.0.severity", "fatal"),
    "text for a number": ("traces.0.steps.total_ns", "30000001"),
    "a number for text": ("traces.0.trace.file", 1),
    "a fraction of a nanosecond": ("traces.0.ledger.0.dur_ns", 0.5),
    "a negative duration": ("traces.0.ledger.0.dur_ns", -1),
    "percent for a share": ("traces.0.ledger.0.step_share", 30.9),
    "nothing where something is known": ("traces.0.findings.0.saving_ns", None),
    "a list in evidence": ("traces.0.findings.0.instances.rows.0.0", [1]),
    "another version": ("schema_version", SCHEMA_VERSION - 1),
    "no list": ("traces", {}),
}


@pytest.mark.parametrize(("path", "value"), BROKEN.values(), ids=BROKEN)
def test_what_is_broken_is_not_valid(path, value):
    broken = copy.deepcopy(content("training"))
    *within, last = [int(key) if key.isdecimal() else key for key in path.split(".")]
    place = broken
    for key in within:
        place = place[key]
    if value is GONE:
        del place[last]
    else:
        place[last] = value
    assert objections(broken) != []


def test_any_number_of_traces_is_a_list():
    (one,) = content("training")["traces"]
    head = {"schema_version": SCHEMA_VERSION, "verdict": content("training")["verdict"], "jobs": []}
    for traces in range(4):
        assert objections({**head, "traces": [one] * traces}) == []


def test_every_object_needs_all_its_keys_and_has_no_others():
    shapes = {name: shape for name, shape in SHAPES.items() if "properties" in shape}
    assert {name: [*shape["properties"]] for name, shape in shapes.items()} == {
        name: shape["required"] for name, shape in shapes.items()
    }
    assert {name for name, shape in shapes.items() if shape.get("additionalProperties") is not False} == set()


def test_everything_is_described():
    described = {name for name, shape in SHAPES.items() if "description" in shape}
    bare = [
        f"{name}.{key}"
        for name, shape in SHAPES.items()
        for key, value in shape.get("properties", {}).items()
        if "description" not in value and value.get("$ref", "").removeprefix("#/$defs/") not in described
    ]
    assert bare == []


def test_sections_of_queries_are_those_of_reports():
    with_gpu, without = (set(content(case)["traces"][0]["queries"]) for case in ("training", "host_only"))
    assert with_gpu | without == set(SHAPES["queries"]["propertyNames"]["enum"])
    assert with_gpu & without == set(SHAPES["queries"]["required"])


# What a query returns: any value.
EVIDENCE = ".rows[][]"


def test_keys_and_types_are_those_of_the_records():
    """Compare the schema with reports in which every field is known, and in which all that may be unknown is."""
    reports = [Report((made(TraceReport, known=known),), "") for known in (True, False)]
    (bare,) = reports[1].traces
    stacks = {bare.findings[0].finding_id: HostStack(("frame",), None, is_captured=True)}
    reports.append(Report((replace(bare, stacks=stacks),), ""))
    found = defaultdict(set)
    for each in reports:
        for path, type_ in types_in(json.loads(to_json(each))["traces"][0]):
            found[path].add(type_)
    promised = defaultdict(set)
    for path, types in types_of(SHAPES["trace_report"]):
        promised[path] |= types
    assert {path: types for path, types in promised.items() if not path.endswith(EVIDENCE)} == {
        path: types for path, types in found.items() if not path.endswith(EVIDENCE) and path != ".schema_version"
    }


# Shown by other formats.
NOT_IN_JSON = {"activity", "over_time", "flame", "close_ups", "price"}
# May lack what another record names.
MAY_LACK = {"stacks"}

# What the records of a report name in their annotations, and import for type checkers only.
NAMES = {name: value for module in (finding, verdict, flame, timeline, topics) for name, value in vars(module).items()}


def made(type_, *, known):
    """A value of `type_`, in which what may be None is known everywhere, or nowhere; of lists and maps one item."""
    if isinstance(type_, type) and issubclass(type_, msgspec.Struct):
        hints = get_type_hints(type_, localns=NAMES)
        names = [
            name for name in type_.__struct_fields__ if name not in NOT_IN_JSON and (known or name not in MAY_LACK)
        ]
        return type_(**{name: made(hints[name], known=known) for name in names})
    kind, of = get_origin(type_), [each for each in get_args(type_) if each is not ...]
    if kind in (Union, UnionType):
        return None if NoneType in of and not known else made(of[0], known=known)
    if kind is Literal:
        return of[0]
    if kind is tuple:
        return tuple(made(each, known=known) for each in of)
    if kind in (dict, Mapping):
        return {made(of[0], known=known): made(of[1], known=known)}
    return type_(1)


MAPS = (".cpu_slices", ".gpu_slices", ".parts_ns", ".owned_by_category_ns", ".queries")

TYPES = {dict: "object", list: "array", str: "string", int: "integer", float: "number", bool: "boolean"}
TYPES |= {NoneType: "null"}


def types_in(value, path=""):
    """Each path within a JSON value and its type; items of lists have one path, [], and values of maps one, *."""
    yield path, TYPES[type(value)]
    if isinstance(value, dict):
        for key, each in value.items():
            yield from types_in(each, f"{path}.{'*' if path.endswith(MAPS) else key}")
    if isinstance(value, list):
        for each in value:
            yield from types_in(each, f"{path}[]")


def types_of(schema, path=""):
    """Each path that the schema knows, and the types it allows there."""
    if "$ref" in schema:
        yield from types_of(SHAPES[schema["$ref"].removeprefix("#/$defs/")], path)
    for each in schema.get("anyOf", []):
        yield from types_of(each, path)
    yield path, {TYPES[type(each)] for each in schema.get("enum", [])}
    stated = schema.get("type", [])
    yield path, {stated} if isinstance(stated, str) else set(stated)
    for key, each in schema.get("properties", {}).items():
        yield from types_of(each, f"{path}.{key}")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from types_of(schema["additionalProperties"], f"{path}.*")
    if "items" in schema:
        yield from types_of(schema["items"], f"{path}[]")
