"""A client made with the SDK asks the server; answers say what the report says, within their budget."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from pathlib import Path

import lazy_import
import pytest
from golden import Golden

import traceq
from traceq.app.agents import Session
from traceq.reports.sections.verdict import write_verdict

lazy_import.module("mcp")

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "traceq" / "app" / "demo" / "training.pt.trace.json.gz"
FIXTURES = ROOT / "fixtures"
# With findings, and without.
TRACES = {
    "demo": DEMO,
    "pair": FIXTURES / "pairs" / "float64.pt.trace.json.gz",
    "kineto": FIXTURES / "run" / "kineto_2026.json.gz",
    "nsys": FIXTURES / "run" / "nsys_2026.2.sqlite",
    "host only": FIXTURES / "broken" / "nsys_without_gpu.sqlite",
}
BUDGET = 8_000
TYPES = (
    "select timestamp_ns '2024-01-01 00:00:00.123456789' as t, 'nan'::double as n, [1, 2] as l,"
    " 9007199254740993::bigint as i, repeat('x', 100000) as x"
)


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """The database of each trace."""
    folder = tmp_path_factory.mktemp("mcp")
    return {
        name: traceq.ingest(path, folder / f"{name.replace(' ', '_')}.duckdb").database for name, path in TRACES.items()
    }


@pytest.fixture(scope="module")
def asked(paths):
    """Everything that the tests ask, in one session of a client: by question, as (text, data, is_error, characters)."""
    questions = {
        **{("open", name): {"path": str(path)} for name, path in paths.items()},
        **{("finding", name): {"source": str(path)} for name, path in paths.items()},
        **{("report", name): {"source": str(path)} for name, path in paths.items()},
        ("finding", "sql"): {"source": "db1", "part": "sql"},
        ("finding", "rule"): {"source": "db1", "finding": "late-rank"},
        ("finding", "unknown"): {"source": "db1", "finding": "F99"},
        ("sql", "rows"): {"source": "db1", "query": "select name, dur from kernel order by dur desc"},
        ("sql", "types"): {"source": "db1", "query": TYPES},
        ("sql", "file"): {"source": "db1", "query": f"select * from read_text('{__file__}')"},
        ("sql", "write"): {"source": "db1", "query": "create table mine (x integer)"},
        ("sql", "wrong"): {"source": "db1", "query": "selec 1"},
        ("sql", "fails late"): {"source": "db1", "query": "select error('late')"},
        ("whatif", "list"): {"source": "db1"},
        ("whatif", "change"): {"source": "db1", "scale": {"compute": 0.5}},
        ("whatif", "finding"): {"source": "db1", "finding": "F1"},
        ("whatif", "nothing"): {"source": "db1", "remove": ["nothing"]},
        ("compare", "itself"): {"base": "db1", "new": "db1"},
        ("open", "missing"): {"path": "/no/such/trace.json"},
        ("open", "trace"): {"path": str(DEMO)},
    }
    return asyncio.run(answers(questions))


async def answers(questions, folder=None):
    from mcp import Client, StdioServerParameters, stdio_client

    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "traceq", "mcp"], env=environment, cwd=folder
    )
    found = {}
    async with Client(stdio_client(parameters)) as client:
        found["tools"] = {each.name: each for each in (await client.list_tools()).tools}
        for (tool, name), arguments in questions.items():
            result = await client.call_tool(tool, arguments)
            size = len(result.model_dump_json(by_alias=True, exclude_none=True))
            text = "".join(each.text for each in result.content)
            found[tool, name] = (text, result.structured_content, result.is_error, size)
    return found


def first_finding(path):
    (trace, *_) = traceq.report(path).content.traces
    return trace, trace.findings[0] if trace.findings else None


def test_the_tools_are_described_and_only_read(asked):
    tools = asked["tools"]
    assert list(tools) == ["open", "report", "finding", "sql", "whatif", "compare"]
    assert all(each.description and each.annotations.read_only_hint for each in tools.values())
    assert all("max_chars" in each.input_schema["properties"] for each in tools.values())


def test_every_answer_is_within_its_budget(asked):
    sizes = {key: value[3] for key, value in asked.items() if key != "tools"}
    assert max(sizes.values()) <= BUDGET, sizes


@pytest.mark.parametrize("name", TRACES)
def test_open_and_finding_give_the_first_finding_with_saving_fix_and_sql(name, asked, paths):
    trace, found = first_finding(paths[name])
    opened, data, failed, _ = asked["open", name]
    assert not failed
    assert trace.trace.sha256 == data["traces"][0]["sha256"]
    if found is None:
        assert data["findings"] == []
        return
    assert found.title in opened
    assert data["findings"][0]["rule"] == found.rule
    text, data, failed, _ = asked["finding", name]
    assert not failed
    assert found.title in text
    assert found.fix in text
    assert found.instances.query in text
    expected = None if found.only_bounds else round(found.saving_ns)
    assert (data["rule"], data["saving_ns"]) == (found.rule, expected)
    assert (data["saving_low_ns"], data["saving_high_ns"]) == (round(found.saving_low_ns), round(found.saving_high_ns))


@pytest.mark.parametrize("name", TRACES)
def test_where_the_report_abstains_the_tools_say_the_same_and_why(name, asked, paths):
    trace, found = first_finding(paths[name])
    told = write_verdict(trace)
    assert asked["open", name][1]["outcome"] == told.outcome
    assert asked["report", name][1]["outcome"] == told.outcome
    if found is not None:
        return
    text, data, failed, _ = asked["finding", name]
    assert not failed
    assert (data["finding"], data["outcome"]) == (None, told.outcome)
    assert "".join(told.spans) in text
    assert all(each.reason in text for each in trace.not_applicable[:1])


def test_some_of_the_traces_have_findings_and_some_have_none(asked):
    outcomes = {asked["open", name][1]["outcome"] for name in TRACES}
    assert "problem" in outcomes
    assert outcomes - {"problem"}


def test_the_report_is_that_of_the_format_llm(asked, paths):
    text = asked["report", "demo"][0]
    assert text == traceq.report(paths["demo"]).render("llm")


def test_a_rule_that_found_nothing_says_so(asked):
    text, data, failed, _ = asked["finding", "rule"]
    assert not failed
    assert data["finding"] is None
    assert data["reason"] in text


def test_the_queries_of_a_finding_run(asked, paths):
    text, data, _, _ = asked["finding", "sql"]
    _, found = first_finding(paths["demo"])
    assert data is None
    assert found.instances.query in text
    assert found.summary.query in text


def test_errors_are_those_of_traceq_in_one_line(asked):
    for question in [
        ("open", "missing"),
        ("finding", "unknown"),
        ("sql", "wrong"),
        ("sql", "fails late"),
        ("sql", "file"),
        ("whatif", "nothing"),
    ]:
        text, data, failed, _ = asked[question]
        assert failed, question
        assert data is None
        assert text.count("\n") == 0
        assert "Error executing tool" not in text
    assert asked["sql", "wrong"][0] == 'line 1, column 1: syntax error at or near "selec"'
    assert asked["sql", "fails late"][0] == "late"
    assert asked["finding", "unknown"][0].startswith("no finding is called 'F99'; there are ")


def test_sql_cannot_write_and_reaches_no_file(asked):
    assert "read-only" in asked["sql", "write"][0]
    assert "disabled" in asked["sql", "file"][0]


def test_values_are_exact_in_the_data(asked):
    _, data, failed, _ = asked["sql", "types"]
    assert not failed
    (row,) = data["rows"]
    assert row[:4] == ["2024-01-01T00:00:00.123456789", None, [1, 2], 9007199254740993]
    assert len(row[4]) == 200
    assert "1 long value cut" in data["note"]


def test_sql_says_what_was_cut(asked, paths):
    text, data, _, _ = asked["sql", "rows"]
    assert data["columns"] == ["name", "dur"]
    assert data["is_cut"]
    assert "the query has more" in data["note"]
    assert data["note"] in text
    with traceq.open(paths["demo"]) as traces:
        longest = traces.sql("select max(dur) from kernel").fetchall()[0][0]
    assert data["rows"][0][1] == longest


def test_whatif_and_compare_say_what_the_commands_say(asked, paths):
    assert asked["whatif", "list"][1]["choices"][0]["what"]
    data = json.loads(traceq.whatif(paths["demo"], scale={"compute": 0.5}).to_json())
    assert asked["whatif", "change"][1]["after_ns"] == pytest.approx(data["after_ns"])
    data = json.loads(traceq.whatif(paths["demo"], finding="F1").to_json())
    assert asked["whatif", "finding"][1]["after_ns"] == pytest.approx(data["after_ns"])
    compared = traceq.compare(paths["demo"], paths["demo"])
    assert asked["compare", "itself"][1]["verdict"] == compared.verdict


def test_a_trace_is_opened_as_its_database_is(asked):
    (trace,) = asked["open", "trace"][1]["traces"]
    (stored,) = asked["open", "demo"][1]["traces"]
    assert trace == stored


@pytest.mark.parametrize("most", [1_000, 2_000, 4_000])
def test_a_smaller_budget_is_kept_as_well(most, paths):
    with Session() as session:
        source = str(paths["demo"])
        answers = [
            session.open(source, max_chars=most),
            session.report(source, max_chars=most),
            session.finding(source, max_chars=most),
            session.finding(source, part="sql", max_chars=most),
            session.sql(source, "from kernel", max_chars=most),
            session.whatif(source, max_chars=most),
            session.compare(source, source, max_chars=most),
        ]
    assert max(each.size for each in answers) <= most


def test_a_larger_budget_is_not_given(paths):
    with Session() as session:
        answer = session.sql(str(paths["demo"]), "from kernel", max_rows=10_000, max_chars=1_000_000)
    assert answer.size <= BUDGET
    assert len(answer.data["rows"]) <= 200


def test_tables_that_the_tool_names_are_there(paths):
    (named,) = re.findall(r"Tables: (.*?) and more", Session.sql.__doc__)
    with Session() as session:
        for table in named.split(", "):
            assert session.sql(str(paths["demo"]), f"select * from {table} limit 1").data["columns"], table


@pytest.mark.slow
def test_what_a_session_made_of_traces_is_gone_after_it():
    with Session() as session:
        session.open(str(DEMO))
        (database,) = session._by_name.values()
        assert database.file.exists()
    assert not database.file.exists()


@pytest.mark.slow
def test_a_file_that_was_written_anew_is_another_database(tmp_path):
    path = tmp_path / "t.duckdb"
    traceq.ingest(DEMO, path)
    with Session() as session:
        first = session.open(str(path)).data["id"]
        assert session.open(str(path)).data["id"] == first
        os.utime(path, ns=(1, 1))
        assert session.open(str(path)).data["id"] != first


def test_a_query_that_takes_too_long_is_stopped(paths, monkeypatch):
    monkeypatch.setattr("traceq.app.agents._LONGEST_QUERY", 0.2)
    endless = "select sum(a.dur * b.dur + c.dur) from cpu_slice a, cpu_slice b, cpu_slice c, cpu_slice d"
    with Session() as session, pytest.raises(traceq.QueryError, match=r"stopped after 0\.2 s"):
        session.sql(str(paths["demo"]), endless)


SAMPLES = ROOT.parent / "shared" / "traces" / "torch"
FETCHES = "select step, count(*) as fetches, sum(dur) / 1e6 as ms from data_fetch group by all order by step"
SESSION = {
    ("open", 1): {"path": "kineto_resnet50_w0.v19.pt.trace.json.gz"},
    ("finding", 2): {"source": "db1", "finding": "F1"},
    ("sql", 3): {"source": "db1", "query": FETCHES},
    ("whatif", 4): {"source": "db1", "move": {"idle_data": 2}},
    ("finding", 5): {"source": "db1", "finding": "garbage-collection"},
    ("compare", 6): {"base": "db1", "new": "kineto_resnet50_w4.v19.pt.trace.json.gz", "max_chars": 2_200},
}
LINE = 150


@pytest.mark.slow
@pytest.mark.skipif(not SAMPLES.exists(), reason="the public samples are not there")
def test_the_session_in_the_documentation_is_an_actual_one(request):
    found = asyncio.run(answers(SESSION, SAMPLES))
    lines = []
    for (tool, number), arguments in SESSION.items():
        lines += [f"> {tool}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})", ""]
        lines += [*found[tool, number][0].rstrip().splitlines(), ""]
    shown = "\n".join(line if len(line) <= LINE else f"{line[:LINE]} ..." for line in lines).rstrip()
    page = (ROOT / "docs" / "agents.md").read_text("utf-8")
    before, _, rest = page.partition("<!-- session -->\n")
    _, _, after = rest.partition("<!-- end of session -->")
    docs = Golden(ROOT / "docs", update=request.config.getoption("--update-golden"))
    docs.check("agents.md", f"{before}<!-- session -->\n```text\n{shown}\n```\n<!-- end of session -->{after}")


def test_the_documentation_names_every_tool_and_argument(asked):
    page = (ROOT / "docs" / "agents.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", page, re.MULTILINE))
    assert list(rows) == list(asked["tools"])
    for name, tool in asked["tools"].items():
        assert set(re.findall(r"`(\w+)`", rows[name])) >= set(tool.input_schema["properties"]) - {"max_chars"}


def test_the_configurations_start_the_command():
    page = (ROOT / "docs" / "agents.md").read_text("utf-8")
    configurations = [json.loads(each) for each in re.findall(r"```json\n(.*?)```", page, re.DOTALL)]
    servers = [next(iter(each.values()))["traceq"] for each in configurations]
    over_http = [each.pop("url") for each in servers if each.get("type") == "http"]
    assert [(each["command"], each["args"]) for each in servers if "command" in each] == [("traceq", ["mcp"])] * 2
    assert [url.partition("Qm3")[0] for url in over_http] == ["http://127.0.0.1:8765/"]


@pytest.mark.slow
def test_the_client_in_the_documentation_works(paths, monkeypatch, tmp_path):
    page = (ROOT / "docs" / "agents.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    command = tmp_path / "traceq"
    command.write_text(f"#!/bin/sh\nPYTHONPATH='{ROOT}' exec '{sys.executable}' -m traceq \"$@\"\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    names = {}
    exec(compile(code, "docs/agents.md", "exec"), names)  # noqa: S102 - it is ours
    result = asyncio.run(names["main"](str(paths["demo"])))
    assert result.structured_content["finding"] == "F1"
