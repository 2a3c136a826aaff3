"""Options are named from the command line to where they are read: none vanishes on the way."""

from __future__ import annotations

import ast
import inspect
import textwrap

import click
import pytest

from traceq.app.ticket import TicketText
from traceq.cli import main
from traceq.common.limits import limits
from traceq.common.process import usable_cpus


def commands(group=main, path="traceq"):
    """Every command by its path."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def layers(command):
    """The callback and what it wraps, from the outside."""
    layer = command.callback
    while layer is not None:
        yield layer
        layer = getattr(layer, "__wrapped__", None)


def of_layer(layer):
    """The options that a layer takes, and what it makes of them."""
    variables = inspect.getclosurevars(layer).nonlocals if inspect.isfunction(layer) else {}
    names = {
        each.name
        for each in inspect.signature(layer, follow_wrapped=False).parameters.values()
        if each.kind is each.KEYWORD_ONLY
    }
    return names | set(variables.get("options", ())), {variables["name"]} if "options" in variables else set()


def faults(command):
    """List the options that no parameter takes, the parameters without an option, and the parameters that nothing reads."""
    *wrappers, callback = layers(command)
    parameters = inspect.signature(callback).parameters.values()
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        yield "takes any option"
        return
    declared = {each.name for each in command.params if each.expose_value}
    context = {each.name for each in parameters if each.annotation == "click.Context"}
    taken, made = {each.name for each in parameters} - context, set()
    for layer in wrappers:
        names, of_names = of_layer(layer)
        taken, made = taken | names, made | of_names
    limited = {"memory_limit", "jobs", "timeout"}
    if declared - taken:
        yield f"nobody takes {declared - taken}"
    if taken - made - declared - limited:
        yield f"nobody declares {taken - made - declared - limited}"
    body = ast.parse(textwrap.dedent(inspect.getsource(callback))).body[0]
    read = {each.id for each in ast.walk(body) if isinstance(each, ast.Name)}
    if unread := {each.name for each in parameters} - read:
        yield f"nobody reads {unread}"


def test_every_option_of_every_command_is_taken_and_read():
    found = {path: told for path, command in commands() if (told := list(faults(command)))}
    assert found == {}


def test_an_option_that_vanishes_is_seen():
    @click.command()
    @click.option("--lost")
    def swallows(**options):
        return options

    @click.command()
    @click.option("--lost")
    @click.option("--unread")
    def lacks(unread, other):  # noqa: ARG001 - which is the fault
        return other

    assert list(faults(swallows)) == ["takes any option"]
    assert list(faults(lacks)) == ["nobody takes {'lost'}", "nobody declares {'other'}", "nobody reads {'unread'}"]


def test_limits_hold_within_the_command_and_not_after_it(traceq, monkeypatch):
    seen = []
    monkeypatch.setattr("traceq.app.check.check", lambda *_arguments, **_options: seen.append(limits()) or 1 / 0)
    traceq("check", "t.duckdb", "--memory-limit", "2GiB", "--timeout", "3s")
    (within,) = seen
    assert (within.memory, within.timeout, within.jobs) == (2 << 30, 3.0, usable_cpus())
    assert limits().memory is None


@pytest.mark.parametrize(
    "option", [["-v"], ["--full"], ["--finding", "F1"], ["--sql"], ["--top", "10"], ["--save"], ["--charts"]]
)
@pytest.mark.parametrize("ticket", [["--ticket"], ["--ticket", "--against", "main", "--format", "text"]])
def test_what_a_ticket_has_no_use_for_is_refused(traceq, option, ticket):
    result = traceq("report", "t.duckdb", *ticket, *option)
    assert (result.exit_code, option[0] in result.stderr) == (2, True)


def test_a_ticket_is_not_written_over_its_trace(traceq, tmp_path):
    trace = tmp_path / "t.md"
    trace.write_text('{"traceEvents": []}')
    result = traceq("report", trace, "--ticket", "-o", trace)
    assert (result.exit_code, "is the input" in result.stderr) == (2, True)
    assert trace.read_text() == '{"traceEvents": []}'


def test_what_says_nothing_of_memory_is_refused_for_snapshots(traceq, monkeypatch):
    monkeypatch.setattr("traceq.app.compare_memory.is_snapshot", lambda _source: True)
    result = traceq("compare", "a.pickle", "b.pickle", "--rank", "0", "--level", "0.02", "--by", "mean")
    assert result.exit_code == 2
    assert "--rank, --by, --level: only for times, which memory snapshots do not have." in result.stderr


def test_a_ticket_of_a_comparison_has_its_own_length(traceq, database):
    result = traceq("compare", database, database, "--ticket", "--top", "3")
    assert (result.exit_code, "--top: the layout of a ticket" in result.stderr) == (2, True)


def test_options_about_traces_are_refused_for_a_database(traceq, database):
    result = traceq("sql", database, "select 1", "--step-range", "x")
    assert (result.exit_code, "The steps of a database are fixed" in result.stderr) == (2, True)


# An option of `report` -> what stands on the command line for it; "error" where --ticket has no use for it.
WITH_TICKET = {
    "output": ["-o", "{folder}/t.md"],
    "format_": ["--format", "html"],
    "verbose": "error",
    "full": "error",
    "finding": "error",
    "sql": "error",
    "top": "error",
    "traces": ["--trace", "7"],
    "rank": ["--rank", "3"],
    "step_range": ["--step-range", "x"],
    "steps_per": ["--steps-per", "2"],
    "window": ["--window", "gpu"],
    "capture": ["--capture", "c.json"],
    "inductor": ["--inductor", "folder"],
    "axes": ["--axes", "tp=8"],
    "logs": ["--with", "{folder}"],
    "offset": ["--offset", "1.5"],
    "log_formats": ["--log-format", "{folder}/own.toml"],
    "memory_limit": ["--memory-limit", "2GiB"],
    "cache": ["--no-cache"],
    "goal": ["--goal", "latency"],
    "against": ["--against", "base.duckdb"],
    "site": ["--for", "jira"],
    "charts": "error",
    "cost_per_gpu_hour": "error",
    "rules": ["--rules", "{folder}"],
    "timeout": ["--timeout", "2s"],
    "store": "error",
}


def test_every_option_of_report_is_known_to_the_test_of_tickets():
    (report,) = [command for path, command in commands() if path == "traceq report"]
    assert {each.name for each in report.params} - {"sources", "ticket"} == set(WITH_TICKET)


@pytest.mark.parametrize("option", [name for name, words in WITH_TICKET.items() if words != "error"])
def test_every_option_of_report_has_an_effect_together_with_a_ticket(traceq, monkeypatch, tmp_path, option):
    """Those that have none are refused, which is tested above."""

    def seen(*words):
        calls = []

        def record(*arguments, **options):
            calls.append((arguments, options, limits().memory, limits().timeout))
            return TicketText("text\n", "verdict")

        monkeypatch.setattr("traceq.app.ticket.ticket", record)
        monkeypatch.setattr(
            "traceq.app.report.report", lambda *_arguments, **_options: calls.append("a report") or 1 / 0
        )
        traceq("report", "t.duckdb", "--ticket", *words)
        return calls

    (tmp_path / "own.toml").touch()
    words = [word.format(folder=tmp_path) for word in WITH_TICKET[option]]
    assert seen(*words) != seen() != []
