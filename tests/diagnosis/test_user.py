"""Rules that users write: an SQL file with a header."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import closing, contextmanager

import duckdb
import pytest
from builder import TraceBuilder
from click.testing import CliRunner

import traceq
from traceq.cli import main
from traceq.common import plugins
from traceq.common.limits import Limits, within
from traceq.database.connect import connect
from traceq.diagnosis import user_rules
from traceq.diagnosis.judge import judge
from traceq.diagnosis.subject import Subject

QUERY = """select step, ts, dur, name, slice_id, ledger_dur as claimed, category as cause, slice_id as busy_id
from busy_piece where trace_id = $trace_id and device = $device;
"""
HEADER = "-- rule: my-rule\n-- title: My rule\n-- fix: Do less:\n--   much less.\n-- references: https://example.org\n"


@pytest.fixture
def write(tmp_path):
    def file(text, name="mine.sql"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return file


@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made_once")
    trace = TraceBuilder()
    for start in (0, 100, 200):
        trace.annotation("outer", start, 10)
        trace.kernel("gemm", start + 5, 95, launched=(start + 4, 1))
    trace.build(folder)._connection.close()
    return folder / "trace.duckdb"


@pytest.fixture
def connection(made_once, tmp_path):
    with closing(connect(shutil.copyfile(made_once, tmp_path / "trace.duckdb"))) as connection:
        yield connection


def only(path, connection):
    rules = [each for each in user_rules.load_rules([path]) if each.name == "my-rule"]
    (judged,) = judge(connection, rules=rules)
    return judged


def test_a_file_is_a_rule(write, connection):
    (finding,) = only(write(HEADER + QUERY), connection).findings
    assert (finding.rule, finding.title, finding.fix) == ("my-rule", "My rule", "Do less: much less.")
    assert finding.references == ("https://example.org",)
    assert finding.claimed_ns == 95
    assert finding.confidence == "low"


def test_its_name_is_that_of_the_file_unless_it_has_one(write):
    path = write("-- fix: x\n" + QUERY, "slow_thing.sql")
    assert user_rules.load_rules([path])[0].name == "slow-thing"


def test_a_directory_is_all_rules_in_it(write, tmp_path):
    write("-- fix: x\n" + QUERY, "a.sql")
    write("-- fix: x\n" + QUERY, "b.sql")
    assert [each.name for each in user_rules.load_rules([tmp_path])[:2]] == ["a", "b"]


def test_a_query_that_fails_is_a_failed_outcome_and_the_rest_stands(write, connection):
    path = write("-- rule: my-rule\n-- fix: x\nselect * from nowhere\n")
    (judged,) = judge(connection, rules=user_rules.load_rules([path]))
    assert [each.rule for each in judged.failed] == ["my-rule"]
    assert judged.findings


def test_an_interrupt_ends_the_judging_and_is_no_failed_rule(write, connection):
    (rule,) = [each for each in user_rules.load_rules([write(HEADER + QUERY)]) if each.name == "my-rule"]

    def interrupted(_subject):
        raise duckdb.InterruptException("INTERRUPT Error: Interrupted!")

    with pytest.raises(duckdb.InterruptException):
        judge(connection, rules=[rule._replace(judge=interrupted), rule])


def test_a_query_that_lacks_columns_is_a_failed_outcome(write, connection):
    (failed,) = only(write("-- rule: my-rule\n-- fix: x\nselect 1 as step\n"), connection).failed
    assert 'column "claimed" not found' in failed.error


def test_what_it_needs_is_not_there(write, connection):
    path = write("-- rule: my-rule\n-- fix: x\n-- needs: gpu, memory_samples\n" + QUERY)
    (missing,) = only(path, connection).not_applicable
    assert "there are no samples of allocated memory" in missing.reason


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (QUERY, "has no fix"),
        ("-- fix: x\n-- rule: My Rule\n" + QUERY, "kebab-case"),
        ("-- fix: x\n-- confidence: sure\n" + QUERY, "one of high, medium, low"),
        ("-- fix: x\n-- low: 2\n" + QUERY, "share from 0 to 1"),
        ("-- fix:\n" + QUERY, "has no fix"),
        ("-- fix: x\n-- low: 0.5\n-- likely: 0.2\n" + QUERY, "put them in this order"),
        ("-- fix: x\n-- needs: luck\n" + QUERY, "not one of gpu"),
        ("-- fix: x\n-- rule: host-bound\n" + QUERY, "of this name already"),
        (
            "-- fix: x\n-- confidance: high\n" + QUERY,
            "mine.sql:2: 'confidance' is not a key of a rule's header; write 'confidence'",
        ),
        ("-- fix: x\n-- only-with: trace\n" + QUERY, "mine.sql: write it as table: condition"),
        ("-- fix: x\n-- threshold: most\n" + QUERY, "mine.sql: write it as name = number: reason"),
        (f"-- fix: x\n-- threshold: most = {'9' * 5000}: x\n" + QUERY, "write it as name = number: reason"),
        ("-- fix: x\nselect " + "(" * 5000, "mine.sql: brackets are nested more than 200 deep"),
        ("-- fix: x\n" + "select * from (" * 60000, "mine.sql: brackets are nested more than 200 deep"),
        (f"-- fix: x\n-- only-with: trace: {'(' * 5000}\n" + QUERY, "mine.sql: brackets are nested more than 200"),
        (f"-- fix: {{{{ {'9' * 5000} }}}}\n" + QUERY, "a number with too many digits in '{{ 999"),
        (f"-- fix: {{{{ 1 }}}}{' ' * 100_000}x\n" + QUERY, "more than 100,000 characters in '{{ 1 }}"),
    ],
)
def test_a_header_that_is_wrong_says_what_and_where(write, text, says):
    with pytest.raises(traceq.UnusableRule, match=re.escape(says)):
        user_rules.load_rules([write(text)])


NESTED = {
    "brackets": "{{ " + "(" * 2000 + "1" + ")" * 2000 + " }}",
    "lists": "{{ " + "[" * 2000 + "1" + "]" * 2000 + " }}",
    "not": "{{ " + "not " * 2000 + "1 }}",
    "signs": "{{ " + "-" * 2000 + "1 }}",
    "attributes": "{{ a" + ".b" * 2000 + " }}",
    "attributes that Jinja takes and Python does not": "{{ a" + ".b" * 300 + " }}",
    "choices": "{{ " + "1 if 0 else " * 2000 + "1 }}",
    "many choices": "{% if 1 %}" + "{% elif 1 %}" * 8000 + "{% endif %}",
    "conditions": "{% if 1 %}" * 2000,
    "loops": "{% for a in [1] %}" * 60 + "{% endfor %}" * 60,
    "filters": "{{ 1" + " | upper" * 2000 + " }}",
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("nested", NESTED.values(), ids=NESTED)
def test_a_text_that_is_nested_too_deeply_is_one_line(write, nested):
    with pytest.raises(
        traceq.UnusableRule, match=r"^.*mine\.sql: nested too deeply in '.{80}'; texts are Jinja templates"
    ):
        user_rules.load_rules([write(f"-- fix: {nested}\n{QUERY}")])


@pytest.mark.parametrize("key", ["title", "reason", "confidence", "when", "heading"])
def test_no_text_of_the_header_may_be_nested_deeply(write, key):
    with pytest.raises(traceq.UnusableRule, match="nested too deeply"):
        user_rules.load_rules([write(f"-- fix: x\n-- {key}: {NESTED['brackets']}\n{QUERY}")])


def test_half_a_character_is_written_as_a_question_mark(write, made_once, tmp_path):
    write('-- title: Mine\n-- fix: a{{ "\\ud800" }}b\n' + QUERY)
    run = CliRunner().invoke(
        main, ["report", str(made_once), "--rules", str(tmp_path / "mine.sql"), "--format", "json"]
    )
    assert run.exit_code == 0, run.output
    assert "a?b" in run.output


def test_a_directory_without_rules_says_so(tmp_path):
    with pytest.raises(traceq.UnusableRule, match="no rule in it"):
        user_rules.load_rules([tmp_path])


def test_the_command_line_takes_files_and_the_environment(write, connection, tmp_path):
    path, database = write(HEADER + QUERY), tmp_path / "trace.duckdb"
    connection.close()
    by_option = CliRunner().invoke(main, ["report", "--rules", str(path), str(database)])
    by_environment = CliRunner().invoke(main, ["report", str(database)], env={"TRACEQ_RULES": str(path)})
    assert by_option.exit_code == by_environment.exit_code == 0
    assert "Look into first: My rule" in by_option.output
    assert by_option.output == by_environment.output
    explained = CliRunner().invoke(main, ["explain", "my-rule", "--rules", str(path)])
    assert explained.output.startswith("my-rule: My rule")


def test_a_rule_that_does_not_exist_is_one_line():
    result = CliRunner().invoke(main, ["explain", "synchronus-loader"])
    assert result.exit_code == 1
    assert result.output.startswith(
        "traceq: error: no rule is called 'synchronus-loader'; did you mean: synchronous-loader"
    )


def test_rules_of_jobs_are_known_too():
    assert "did you mean: slow-gpu" in CliRunner().invoke(main, ["explain", "slow-gpux"]).output
    both = CliRunner().invoke(main, ["explain", "waiting-not-network"]).output
    assert "waiting-not-network: Collectives wait for a late rank\n" in both
    assert "\n\nwaiting-not-network: Collectives wait for ranks, not for the network (of a job)\n" in both
    assert "slow-gpu " in CliRunner().invoke(main, ["rules", "list"]).output
    listed = json.loads(CliRunner().invoke(main, ["rules", "list", "--format", "json"]).output)
    assert "slow-gpu" in {each["name"] for each in listed if each["of_job"]}


def test_findings_can_be_kept_in_the_database(connection, tmp_path):
    connection.close()
    database = tmp_path / "trace.duckdb"
    for _ in range(2):
        result = CliRunner().invoke(main, ["report", "--save", "--format", "json", str(database)])
        assert result.exit_code == 0, result.output
    (report,) = json.loads(result.output)["traces"]
    with traceq.open(database) as traces:
        kept = traces.sql("select finding_id, saving, query from finding order by rank_order").fetchall()
    assert kept == [(each["id"], each["saving_ns"], each["query"]) for each in report["findings"]]


def test_only_a_database_can_keep_them(tmp_path):
    trace = tmp_path / "trace.json"
    trace.write_text("[]")
    result = CliRunner().invoke(main, ["report", "--save", str(trace)])
    assert result.exit_code == 2
    assert "traceq ingest SOURCE -o DB" in result.output


MINE = "-- rule: my-rule\n-- fix: x\n"


def claiming(claimed="ledger_dur", cause="category", busy_id="slice_id", more=""):
    """A rule that claims what busy_piece has, but for one thing."""
    return MINE + (
        f"select step, ts, dur, name, slice_id, {claimed} as claimed, {cause} as cause, {busy_id} as busy_id{more}"
        " from busy_piece where trace_id = $trace_id and device = $device"
    )


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (claiming("ledger_dur * 100"), "claims 9500.0 ns as compute of busy_id"),
        (claiming("-ledger_dur"), "claims -95.0 ns"),
        (claiming("'nan'::double"), "claims nan ns"),
        (claiming("'inf'::double"), "claims inf ns"),
        (claiming(cause="'nonsense'"), "as nonsense of busy_id"),
        (claiming(busy_id="-1"), "which has 0.0 ns"),
        (claiming(busy_id="null"), "without gap_id or busy_id"),
        (claiming(more=", 'a' as gap_id"), "Could not convert string 'a'"),
        (MINE + QUERY.replace("ts, dur, name, ", ""), 'column "ts" not found'),
        (claiming().replace("slice_id,", "'a' as slice_id,", 1), "Could not convert string 'a'"),
    ],
)
def test_a_claim_on_what_is_not_there_fails_and_the_rest_stands(write, connection, text, says):
    (judged,) = judge(connection, rules=user_rules.load_rules([write(text)]))
    assert [each.rule for each in judged.failed] == ["my-rule"]
    assert says in judged.failed[0].error
    assert judged.findings
    assert "my-rule" not in judged.small


@pytest.mark.parametrize(
    "text",
    [
        claiming() + "; -- done",
        claiming() + " /* $low; */ and name <> 'a--b;' and name <> '(  x ' and name <> 'c$low'",
        MINE + "/* it's -- all */ " + claiming().removeprefix(MINE),
        claiming() + " and category not in ('memset')",
        claiming() + " and category != 'memset'",
        "\ufeff" + claiming(),
        claiming().replace("\n", "\r\n"),
        claiming(more=", 'a  ( b' as quoted, [1, 2] as list, 'nan'::double as number, '\\xAA'::blob as bytes"),
    ],
)
def test_its_query_may_be_written_in_many_ways_and_is_printed_so_that_it_runs(write, connection, text):
    (finding,) = only(write(text), connection).findings
    assert finding.claimed_ns == 95
    assert connection.execute(finding.summary.query).fetchall() == list(finding.summary.rows)
    pieces = connection.execute(finding.instances.query).fetchall()
    assert [row[:7] for row in pieces] == [row[:7] for row in finding.instances.rows]
    assert all(isinstance(value, int | float | str | None) for row in finding.instances.rows for value in row)


def test_its_shares_are_no_further_than_those_that_it_says(write, connection):
    (finding,) = only(write("-- likely: 0.2\n" + claiming()), connection).findings
    assert finding.saving_low_ns <= finding.saving_ns <= finding.saving_high_ns


def test_it_reads_its_database_and_nothing_else(write, connection, tmp_path):
    text = MINE + "select 1 as step, 1 as ts, 1 as dur, content as name, 1 as claimed from read_text('/etc/hostname')"
    path, database = write(text), tmp_path / "trace.duckdb"
    connection.close()
    result = CliRunner().invoke(main, ["report", "--full", "--rules", str(path), str(database)])
    assert result.exit_code == 0
    assert "disabled by configuration" in result.output


def test_its_texts_reach_no_connection(write, connection, tmp_path):
    evil = "subject.connection.execute('select 80::utinyint as a').fetchnumpy()['a'].tofile"
    text = claiming().replace("-- fix: x", f"-- fix: A{{{{ {evil}('{tmp_path}/written') }}}}")
    (failed,) = only(write(text), connection).failed
    assert "'dict object' has no attribute 'connection'" in failed.error
    assert not (tmp_path / "written").exists()


def test_it_writes_nothing(write, tmp_path):
    path = write(f"-- fix: nothing\ncopy (select 1) to '{tmp_path}/evil.csv'")
    with pytest.raises(traceq.UnusableRule, match="is not a query: a rule may only read the database"):
        user_rules.load_rules([path])


@pytest.mark.parametrize(
    "query",
    [
        "insert into traceq_schema values (9) returning version as step",
        "delete from step returning *",
        "with x as (insert into traceq_schema values (9) returning *) select * from x",
        "with x as materialized (/* a */ copy (select 1) to 'x.csv') select * from x",
        "with x as (with y as (select 9) insert into traceq_schema from y returning *) select * from x",
    ],
)
def test_no_part_of_it_writes(write, query):
    with pytest.raises(traceq.UnusableRule, match="a rule may only read the database"):
        user_rules.load_rules([write(HEADER + query)])


@pytest.mark.parametrize("name", ["../../../../other", "/other", "nowhere"])
def test_it_uses_no_query_but_shared_ones(write, name):
    with pytest.raises(traceq.UnusableRule, match=r"which is not a shared query of traceq$"):
        user_rules.load_rules([write(HEADER + f"-- uses: {name}\n" + QUERY)])


def test_the_manual_page_has_what_the_file_says(write):
    page = user_rules.load_rules([write("-- reason: Seen in names.\n-- fix: Do less: <b>.\n" + QUERY)])[0].manual
    assert page.text == "How it is measured\n    Seen in names.\n\nWhat to try\n    Do less: <b>."


def test_an_empty_path_in_the_environment_is_none(write):
    path = write(claiming())
    result = CliRunner().invoke(main, ["rules", "list"], env={"TRACEQ_RULES": f"{path}:"})
    assert result.output.startswith("my-rule ")


@pytest.mark.parametrize("error", [RuntimeError("no GPU\nhere"), ImportError("gone"), SyntaxError("x")])
def test_an_entry_point_that_breaks_is_one_line(monkeypatch, error):
    class Broken:
        name, value = "broken", "broken:rule"

        def load(self):
            raise error

    monkeypatch.setattr(plugins, "list_entry_points", lambda _: [Broken()])
    with pytest.raises(
        traceq.UnusableRule, match=r"^entry point broken \(broken:rule\): [A-Z].*reinstall or remove.*$"
    ):
        user_rules.load_rules()


ENDLESS = "range(100000000) as a, range(100000000) as b"


def test_a_rule_is_stopped_when_its_time_is_over_and_the_rest_stands(write, connection):
    path = write(claiming() + f" and (select count(*) from {ENDLESS}) > 0")
    with within(Limits(timeout=0.2)):
        (judged,) = judge(connection, rules=user_rules.load_rules([path]))
    (failed,) = judged.failed
    assert (
        failed.error
        == "QueryError: the rule was stopped after 0.2 s: ask for less at a time, or give it more with --timeout"
    )
    assert judged.observations


def test_the_command_gives_rules_their_time(write, connection, tmp_path):
    path = write(claiming() + f" and (select count(*) from {ENDLESS}) > 0")
    connection.close()
    database = str(tmp_path / "trace.duckdb")
    result = CliRunner().invoke(main, ["report", "--full", "--rules", str(path), "--timeout", "200ms", database])
    assert "the rule was stopped after 0.2 s" in " ".join(result.output.split())


@pytest.mark.parametrize("form", [[], ["--ticket"], ["--ticket", "--format", "json"]])
def test_rules_have_as_much_time_in_a_ticket_as_in_a_report(write, connection, tmp_path, monkeypatch, form):
    told = []

    @contextmanager
    def time_limit(_connection, seconds, _what):
        told.append(seconds)
        yield

    monkeypatch.setattr(user_rules, "time_limit", time_limit)
    connection.close()
    arguments = ["--rules", str(write(claiming())), "--timeout", "200ms", str(tmp_path / "trace.duckdb")]
    assert CliRunner().invoke(main, ["report", *form, *arguments]).exit_code == 0
    assert set(told) == {0.2}


@pytest.mark.parametrize(
    "query",
    [
        "select 1) select * from found; set threads = 1; select * from (select 1",
        "select 1 as step; select 2",
    ],
)
def test_a_query_that_ends_the_one_around_it_fails(write, connection, query):
    (failed,) = only(write(MINE + query), connection).failed
    assert "syntax error" in failed.error or "not a single query" in failed.error


@pytest.mark.parametrize(
    "holds", ["true), false) from step; set threads = 1; select (coalesce(bool_or(true", "true; select 1"]
)
def test_a_condition_that_is_more_is_refused(write, holds):
    path = write(f"-- only-with: step: {holds}\n" + claiming())
    with pytest.raises(traceq.UnusableRule, match="is not a condition on the rows of step"):
        user_rules.load_rules([path])


def test_settings_are_locked_where_rules_are_of_others(write, connection, tmp_path, monkeypatch):
    connection.close()
    seen = []
    monkeypatch.setattr(
        Subject, "claim_of", lambda subject, _, **__: seen.append(subject.connection.execute(LOCKED).fetchall())
    )
    path = write(claiming())
    CliRunner().invoke(main, ["report", "--rules", str(path), str(tmp_path / "trace.duckdb")])
    with traceq.open(tmp_path / "trace.duckdb") as opened:
        opened.report(rules=[path])
        traceq.report(tmp_path / "trace.duckdb", rules=[path])
        opened.sql("select 1")
    assert seen == [[(True,)], [(False,)], [(False,)]]


LOCKED = "select current_setting('lock_configuration')"
