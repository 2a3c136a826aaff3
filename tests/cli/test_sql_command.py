from __future__ import annotations

import csv
import io
import json
import math
import os
from decimal import Decimal

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from traceq.cli import sql
from traceq.common.owner import owner_word

EVERY_TYPE = """
select 9223372036854775807 as most, sum(9223372036854775807) as more, 1.50::decimal(9, 2) as exact,
    'nan'::double as nan, 'inf'::double as infinite, null as nothing, '' as empty, true as yes, [1, null] as list,
    {'a': 1} as struct, map {'k': 1} as map, to_minutes(90) as wait, date '2026-01-02' as day,
    timestamp_ns '2026-01-02 03:04:05.123456789' as moment, timestamptz '2026-01-02 03:04:05+00' as utc,
    time '03:04:05' as clock, '101'::bit as bits, blob 'ab' as bytes, 'x'::enum ('x') as enum,
    1 as twice, 2 as twice
"""


# Before this version of pyarrow lists with parts that are null throughout cannot be written.
WRITES_LISTS_OF_NULL = 25


def test_formats_of_the_option_can_be_written(traceq, database, tmp_path):
    for suffix in sql.FORMATS:
        file = tmp_path / f"one{suffix}"
        assert traceq("sql", database, "select 5 as five", "-o", file).exit_code == 0
        assert b"five" in file.read_bytes()


def test_a_table_is_aligned_with_numbers_to_the_right(traceq, database):
    query = "select 'a' as name, 5 as n union all select 'bcd', 1234 union all select null, null order by n"
    assert traceq("sql", database, query).stdout == (
        "name     n\n"
        "----  ----\n"
        "a        5\n"
        "bcd   1234\n"
        "NULL  NULL\n"
    )  # fmt: skip


def test_a_table_shows_every_row(traceq, database):
    assert traceq("sql", database, "from range(70000)").stdout.count("\n") == 70002


def test_no_rows_is_no_error(traceq, database):
    answers = {
        f: traceq("sql", database, "select 1 as n where false", "--format", f).stdout for f in ("text", "csv", "json")
    }
    assert answers == {"text": "n\n-\n(no rows)\n", "csv": '"n"\n', "json": "[]\n"}


@pytest.mark.parametrize("name", ["text", "md"])
def test_names_cannot_steer_the_terminal_or_break_the_line(traceq, database, name):
    stdout = traceq("sql", database, "select name from kernel order by ts", "--format", name).stdout
    assert stdout.count("\n") == 5
    assert "\x1b" not in stdout
    assert "x1b" in stdout


def test_markdown_shows_names_as_they_are(traceq, database):
    lines = traceq("sql", database, "select name, ts from kernel order by ts", "--format", "md").stdout.splitlines()
    assert lines[:3] == ["| name | ts |", "| --- | ---: |", r"| void gemm&lt;float, 128&gt;(float\*) | 0 |"]
    assert r"pipe &lt;script&gt;" in lines[3]
    assert r"line \| pipe" in lines[3]


def test_json_is_exact(traceq, database):
    (row,) = json.loads(traceq("sql", database, EVERY_TYPE, "--format", "json").stdout, parse_float=Decimal)
    assert row == {
        "most": 9223372036854775807,
        "more": 9223372036854775807,
        "exact": Decimal("1.50"),
        "nan": None,
        "infinite": None,
        "nothing": None,
        "empty": "",
        "yes": True,
        "list": [1, None],
        "struct": {"a": 1},
        "map": {"k": 1},
        "wait": "01:30:00",
        "day": "2026-01-02",
        "moment": "2026-01-02T03:04:05.123456789",
        "utc": "2026-01-02T03:04:05Z",
        "clock": "03:04:05",
        "bits": "101",
        "bytes": "YWI=",
        "enum": "x",
        "twice": 1,
        "twice_1": 2,
    }


def test_csv_keeps_null_and_empty_apart(traceq, database):
    stdout = traceq("sql", database, EVERY_TYPE, "--format", "csv").stdout
    assert ',,"",true,' in stdout
    (row,) = csv.DictReader(io.StringIO(stdout))
    assert row["most"] == row["more"] == "9223372036854775807"
    assert (row["exact"], row["nan"], row["infinite"]) == ("1.50", "nan", "inf")
    assert (row["list"], row["struct"], row["wait"]) == ("[1,null]", '{"a":1}', "01:30:00")
    assert row["moment"] == "2026-01-02 03:04:05.123456789"


def test_csv_gives_names_back_without_what_steers_a_terminal(traceq, database):
    stdout = traceq("sql", database, "select name from kernel order by ts", "--format", "csv").stdout_bytes.decode()
    assert [row[0] for row in csv.reader(io.StringIO(stdout, newline=""))][
        2
    ] == "evil \\x1b[31mred\nline | pipe <script>"


STEERING = "\x1b[31m\x07\x7f\x9b2J\u202e\u2066\u200f\u061c\u2028\ufeff"


@pytest.mark.sample(4)
@pytest.mark.parametrize("format_", ["text", "md", "csv", "json"])
@pytest.mark.parametrize("value", ["$name", "[$name]", "{'a': $name}", "map {$name: 1}", "$name::enum($name)"])
def test_no_text_steers_a_terminal_and_json_gives_it_back(traceq, database, format_, value):
    name = f"'{STEERING}'"
    query = f'select {value.replace("$name", name)} as "{STEERING}"'
    outcome = traceq("sql", database, query, "--format", format_)
    assert outcome.exit_code == 0
    assert not set(outcome.stdout) & set(STEERING) - set("[31m2J")
    if format_ == "json":
        ((key, found),) = json.loads(outcome.stdout)[0].items()
        assert (key, found) == (
            STEERING,
            {"[": [STEERING], "{": {"a": STEERING}, "m": {STEERING: 1}}.get(value[0], STEERING),
        )


@pytest.mark.parametrize(
    "name",
    ["=1", "+1+1", "-a", "@a", "\t=1", "\n=1", " =1", "\xa0 @a", "＝1", "＠a", "－a", "＋a"],  # noqa: RUF001
)
def test_no_text_is_a_formula_of_a_spreadsheet(traceq, database, name):
    stdout = traceq("sql", database, f"select '{name}' as \"{name}\"", "--format", "csv").stdout_bytes.decode()
    assert list(csv.reader(io.StringIO(stdout, newline=""))) == [[f"'{name}"]] * 2


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("value", "text", "in_json"),
    [
        ("date 'infinity'", "infinity", "infinity"),
        ("timestamp '-infinity'", "-infinity", "-infinity"),
        ("timestamp_ns 'infinity'", "infinity", "infinity"),
        ("date '290000-01-01'", "290000-01-01", "290000-01-01"),
        ("timestamp '12026-01-02 03:04:05'", "12026-01-02 03:04:05", "12026-01-02T03:04:05"),
        ("date '0044-01-01 (BC)'", "0044-01-01 (BC)", "0044-01-01 (BC)"),
        ("timestamptz '0044-01-01 (BC) 00:00:00+00'", *["0044-01-01 (BC) 00:00:00+00"] * 2),
        ("'24:00:00'::time", "24:00:00", "24:00:00"),
        ("'03:04:05+01'::timetz", "03:04:05+01", "03:04:05+01"),
        (f"{2**128 - 1}::uhugeint", str(2**128 - 1), str(2**128 - 1)),
        (f"{2**127 - 1}::hugeint", str(2**127 - 1), 2**127 - 1),
        (f"{10**50}::bignum", str(10**50), str(10**50)),
        ("1::variant", "1", "1"),
        ("'POINT (1 2)'::geometry", "POINT (1 2)", "POINT (1 2)"),
        ("union_value(day := date 'infinity')", "infinity", "infinity"),
        ("(1, date 'infinity')", "(1, infinity)", "(1, infinity)"),
        ("[date 'infinity', null]", '["infinity",null]', ["infinity", None]),
        ("array_value(date 'infinity')", '["infinity"]', ["infinity"]),
        ("""{'a"b': date 'infinity', 'n': 1.5}""", r'{"a\"b":"infinity","n":1.5}', {'a"b': "infinity", "n": 1.5}),
        ("map {date 'infinity': 1::variant}", '[["infinity","1"]]', {"infinity": "1"}),
        ("map {[1]: 2}", '[["[1]",2]]', {"[1]": 2}),
    ],
)
def test_what_python_cannot_hold_is_the_text_of_duckdb(traceq, database, tmp_path, value, text, in_json):
    def written(name):
        outcome = traceq("sql", database, f"select {value} as v", "-o", tmp_path / f"x.{name}")
        assert (outcome.exit_code, outcome.stderr) == (0, "")
        return (tmp_path / f"x.{name}").read_text("utf-8")

    assert written("txt").splitlines()[-1].strip() == text
    (row,) = csv.DictReader(io.StringIO(written("csv")))
    assert row["v"].removeprefix("'") == text
    assert json.loads(written("json")) == [{"v": in_json}]


@pytest.mark.parametrize("suffix", sql.FORMATS)
def test_every_type_of_duckdb_can_be_written(traceq, database, tmp_path, suffix):
    outcome = traceq("sql", database, "from test_all_types()", "-o", tmp_path / f"x{suffix}")
    if outcome.exit_code and suffix == ".parquet" and int(pa.__version__.partition(".")[0]) < WRITES_LISTS_OF_NULL:
        (line,) = outcome.stderr.splitlines()
        assert "cannot write this to Parquet" in line
    else:
        assert (outcome.exit_code, outcome.stderr) == (0, "")


def test_parquet_has_what_duckdb_wrote(traceq, database, tmp_path):
    file = tmp_path / "x.parquet"
    query = f"""
    select date 'infinity' as day, '24:00:00'::time as clock, timestamp '0044-01-01 (BC)' as moment,
        {2**128 - 1}::uhugeint as large, timestamp_s 'infinity' as s, [[1::variant]] as nested, map {{[1]: 2}} as map
    """
    assert traceq("sql", database, query, "-o", file).exit_code == 0
    read = f"select columns(*)::varchar from '{file}'"
    assert duckdb.connect().execute(read).fetchall() == [
        ("infinity", "24:00:00", "0044-01-01 (BC) 00:00:00", str(2**128 - 1), "infinity", "[[1]]", "{[1]=2}")
    ]


def test_parquet_keeps_types(traceq, database, tmp_path):
    file = tmp_path / "x.parquet"
    assert traceq("sql", database, EVERY_TYPE, "-o", file).exit_code == 0
    (row,) = pq.read_table(file).to_pylist()
    assert row["most"] == 9223372036854775807
    assert row["more"] == Decimal(9223372036854775807)
    assert math.isnan(row["nan"])
    assert row["list"] == [1, None]
    assert row["bytes"] == b"ab"
    assert row["moment"].nanosecond == 789


def test_parquet_can_be_piped(traceq, database):
    content = traceq("sql", database, "from kernel", "--format", "parquet").stdout_bytes
    assert pq.read_table(io.BytesIO(content)).num_rows == 3


def test_parquet_does_not_go_to_a_terminal(traceq, database, monkeypatch):
    monkeypatch.setattr(
        "traceq.cli.sql.sys", type("Terminal", (), {"stdout": type("T", (), {"isatty": lambda _: True})()})
    )
    outcome = traceq("sql", database, "select 1", "--format", "parquet")
    assert outcome.exit_code == 2
    assert "-o" in outcome.stderr


@pytest.mark.parametrize(
    ("name", "start"),
    [("x.csv", '"n"\n5\n'), ("x.JSON", '[\n{"n":5}\n]\n'), ("x.md", "| n |\n"), ("x.txt", "n\n-\n5\n")],
)
def test_the_format_follows_the_suffix(traceq, database, tmp_path, name, start):
    assert traceq("sql", database, "select 5 as n", "-o", tmp_path / name).output == ""
    assert (tmp_path / name).read_text("utf-8").startswith(start)


def test_an_unknown_suffix_is_wrong_usage(traceq, database, tmp_path):
    outcome = traceq("sql", database, "select 5", "-o", tmp_path / "x.xlsx")
    assert outcome.exit_code == 2
    assert ".parquet" in outcome.stderr


def test_a_failing_query_leaves_the_old_file_and_nothing_else(traceq, database, tmp_path):
    file = tmp_path / "x.csv"
    file.write_text("old")
    fails_late = "select case when range < 99999 then range else error('late') end from range(100000)"
    outcome = traceq("sql", database, fails_late, "-o", file)
    assert (outcome.exit_code, outcome.stderr) == (1, "traceq: error: late\n")
    assert file.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["db", "x.csv"]


def test_a_reader_of_the_old_file_sees_it_to_the_end(traceq, database, tmp_path):
    file = tmp_path / "x.csv"
    file.write_text("old")
    with file.open() as reader:
        assert traceq("sql", database, "select 5 as n", "-o", file).exit_code == 0
        assert reader.read() == "old"
    assert file.read_text() == '"n"\n5\n'


def test_the_database_is_not_overwritten_by_its_own_result(traceq, database):
    before = database.read_bytes()
    outcome = traceq("sql", database, "select 5", "--format", "csv", "-o", database)
    assert outcome.exit_code == 2
    assert database.read_bytes() == before


def test_a_missing_directory_is_one_line(traceq, database, tmp_path):
    outcome = traceq("sql", database, "select 5", "-o", tmp_path / "no" / "x.csv")
    assert outcome.exit_code == 1
    assert outcome.stderr.endswith("cannot be written: no such directory; create it or choose another -o\n")


def test_the_query_can_come_from_stdin(traceq, database):
    assert traceq("sql", database, "-", input="\ufeffselect 5 as n;\n").stdout == "n\n-\n5\n"


def test_a_query_that_is_not_utf8_is_one_line(traceq, database):
    outcome = traceq("sql", database, "-", input=b"select '\xff'")
    assert (outcome.exit_code, outcome.stderr.count("\n")) == (1, 1)
    assert "not UTF-8 (byte 8)" in outcome.stderr


def test_of_several_statements_every_result_is_printed(traceq, database):
    query = (
        "select 1 as a; create temp table long as from kernel where ts > 0; from long limit 0; select 3 as n; -- done;"
    )
    shown = traceq("sql", database, query).stdout
    assert shown.startswith("a\n-\n1\n\n")
    assert shown.endswith("(no rows)\n\nn\n-\n3\n")
    assert "Count" not in shown


@pytest.mark.parametrize(
    ("format_", "shown"),
    [
        ("md", "| a |\n| ---: |\n| 1 |\n\n| b |\n| ---: |\n| 2 |\n"),
        ("csv", '"a"\n1\n\n"b"\n2\n'),
        ("json", '[\n{"a":1}\n]\n[\n{"b":2}\n]\n'),
    ],
)
def test_results_follow_one_another_in_a_file_too(traceq, database, tmp_path, format_, shown):
    query = "select 1 as a; select 2 as b"
    assert traceq("sql", database, query, "--format", format_).stdout == shown
    traceq("sql", database, query, "-o", tmp_path / f"x.{format_}")
    assert (tmp_path / f"x.{format_}").read_text() == shown


def test_parquet_holds_one_result(traceq, database):
    outcome = traceq("sql", database, "select 1; select 2", "--format", "parquet")
    assert (outcome.exit_code, outcome.stdout_bytes) == (1, b"")
    assert "2 statements have results, but this format holds only one" in outcome.stderr
    one = traceq("sql", database, "create temp table t as select 5 as n; from t", "--format", "parquet").stdout_bytes
    assert pq.read_table(io.BytesIO(one)).to_pylist() == [{"n": 5}]


@pytest.mark.parametrize("query", ["-- a comment\nselect 5 as n", "--a = comment\nselect 5 as n", "--\nselect 5 as n"])
def test_a_query_may_begin_with_a_comment(traceq, database, query):
    assert traceq("sql", database, query).stdout == "n\n-\n5\n"


def test_a_misspelt_option_is_no_comment(traceq, database):
    outcome = traceq("sql", database, "--fromat=a b", "select 5 as n")
    assert outcome.exit_code == 2
    assert "Did you mean one of: '--format', '--log-format'?" in outcome.stderr


def test_a_plan_is_printed_as_drawn(traceq, database):
    assert len(traceq("sql", database, "explain from kernel").stdout.splitlines()) > 2


@pytest.mark.parametrize(
    ("query", "position"),
    [
        ("selec 1", "line 1, column 1: "),
        ("create temp table t (a int);\n-- é ; ;\nselect 'é', nope from kernel", "line 3, column 13: "),
        ("select '" + "x" * 500 + "', nope from kernel", "line 1, column 512: "),
        ("select *\n\n  from missing", "line 3, column 8: "),
        ("select 1;\n\n;selec", "line 3, column 2: "),
        ("select 'open", "line 1, column 8: "),
        ("select * from (" * 60_000, "brackets are nested more than 200 deep"),
    ],
)
def test_an_error_says_line_and_column(traceq, database, query, position):
    outcome = traceq("sql", database, query)
    assert (outcome.exit_code, outcome.stdout, outcome.stderr.count("\n")) == (1, "", 1)
    assert outcome.stderr.startswith(f"traceq: error: {position}")


@pytest.mark.parametrize("query", ["", " ;; ", "-- nothing", "\ufeff ;"])
def test_an_empty_query_is_an_error(traceq, database, query):
    outcome = traceq("sql", "--", database, query)
    assert (outcome.exit_code, outcome.stderr.split(";")[0]) == (1, "traceq: error: the query is empty")


@pytest.mark.parametrize(
    "query",
    [
        "insert into trace select * from trace",
        "delete from gpu_slice",
        "update gpu_slice set dur = 0",
        "create table x as select 1",
        "drop table gpu_slice",
        "comment on table trace is 'x'",
    ],
)
def test_the_database_is_read_only(traceq, database, query):
    before = database.read_bytes()
    outcome = traceq("sql", database, query)
    assert (outcome.exit_code, outcome.stderr.count("\n")) == (1, 1)
    assert "opened read-only" in outcome.stderr
    assert database.read_bytes() == before


@pytest.mark.parametrize(
    "query",
    [
        "copy (select 1) to 'out.csv'",
        "copy (select 1) to '/dev/stdout'",
        "from read_csv('in.csv')",
        "from 'in.csv'",
        "from read_text('in.csv')",
        "from glob('*')",
        "attach 'other.duckdb'",
        "export database 'out'",
        "install httpfs",
        "load httpfs",
        "load 'in.csv'",
        "set enable_external_access = true",
        "set lock_configuration = false",
        "set threads = 1",
        "select getenv('HOME')",
        "from connection",
        "from query",
    ],
)
def test_a_query_reaches_nothing_but_its_database(traceq, database, tmp_path, monkeypatch, query):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text("secret\n1\n")
    outcome = traceq("sql", database, query)
    assert (outcome.exit_code, outcome.stdout, outcome.stderr.count("\n")) == (1, "", 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["db", "in.csv"]


def test_text_is_cut_to_the_terminal_and_numbers_are_not(traceq, database, monkeypatch):
    monkeypatch.setattr(sql, "terminal_width", lambda: 48)
    query = "select repeat('漢', 50) as name, 9223372036854775807 as n, repeat('y', 200) as other"
    lines = traceq("sql", database, query).stdout.splitlines()
    assert lines[2].split() == ["漢漢漢漢漢", "…", "9223372036854775807", "yyyyyyyyyyyy…"]


def test_rows_that_do_not_fit_stand_one_below_the_other(traceq, database, monkeypatch):
    query = "select 'a' as name, 9223372036854775807 as n, 2 as other"
    monkeypatch.setattr(sql, "terminal_width", lambda: 30)
    shown = "name   a\nn      9223372036854775807\nother  2\n"
    assert traceq("sql", database, query).stdout == shown
    monkeypatch.setattr(sql, "terminal_width", lambda: 200)
    assert traceq("sql", database, query, "--vertical").stdout == shown


LONG = "void at::native::" + "vectorized_elementwise_kernel<" * 40


def test_long_names_are_cut_beside_numbers_and_whole_where_asked_for(traceq, database):
    query = f"select '{LONG}' as name, 9223372036854775807 as n"
    (name, number) = traceq("sql", database, query).stdout.splitlines()[2].split("  ")
    assert (len(name), number) == (80, "9223372036854775807")
    assert name == LONG[:59] + "…" + LONG[-20:]
    for asked in (["--wide"], ["--vertical"], ["--format", "csv"], ["--format", "json"], ["--format", "md"]):
        assert traceq("sql", database, query, *asked).stdout.replace("\\", "").replace("&lt;", "<").count(LONG) == 1, (
            asked
        )


def test_a_text_without_other_columns_is_whole(traceq, database):
    assert traceq("sql", database, f"select '{LONG}' as name").stdout.splitlines()[2] == LONG


def test_wide_cuts_nothing_on_a_terminal_and_is_for_text(traceq, database, monkeypatch):
    monkeypatch.setattr(sql, "terminal_width", lambda: 48)
    query = f"select '{LONG}' as name, 1 as n"
    assert traceq("sql", database, query, "--wide").stdout.splitlines()[2].startswith(LONG)
    refused = traceq("sql", database, query, "--wide", "--format", "csv")
    assert (refused.exit_code, "--wide is for text" in refused.stderr) == (2, True)


PLACE = "select current_setting('temp_directory') as place"


def test_large_sorts_spill_beside_the_database(traceq, database):
    outcome = traceq("sql", database, PLACE, "--format", "csv")
    assert outcome.stdout == f'"place"\n"{database.parent / f".{database.name}.{owner_word()}.spill"}"\n'


def test_large_sorts_spill_elsewhere_where_the_folder_of_the_database_cannot_be_written(
    traceq, database, monkeypatch, tmp_path
):
    monkeypatch.setattr("traceq.database.connect.gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr("os.access", lambda _path, mode: mode != os.W_OK)
    outcome = traceq("sql", database, PLACE, "--format", "csv")
    assert outcome.stdout == f'"place"\n"{tmp_path / f"traceq-{owner_word()}-00000000"}"\n'


def test_csv_is_inert_in_a_spreadsheet(traceq, database):
    values = ["=1+1", "+x", "-2+3", "@SUM(1)", "\t=1", "-7", "-1.5e3", "a=b", "a\nb", ""]
    rows = ", ".join("(" + " || ".join(f"chr({ord(c)})" for c in each) + ")" if each else "('')" for each in values)
    query = f"select v, -1.5 as n from (values {rows}) t(v)"
    printed = traceq("sql", database, query, "--format", "csv").stdout
    told = [row[0] for row in csv.reader(io.StringIO(printed, newline=""))][1:]
    assert told == [
        "'=1+1",
        "'+x",
        "'-2+3",
        "'@SUM(1)",
        "'\t=1",
        "-7",
        "-1.5e3",
        "a=b",
        "a\nb",
        "",
    ]


def test_markdown_tells_nobody(traceq, database):
    printed = traceq("sql", database, "select '@everyone #1' as v", "--format", "md").stdout
    assert "@\u2060everyone #\u20601" in printed


ENDLESS = "select count(*) from range(100000000) a, range(100000000)"


def test_a_query_is_stopped_when_its_time_is_over(traceq, database, tmp_path):
    for more in ((), ("-o", str(tmp_path / "new.csv"))):
        result = traceq("sql", str(database), ENDLESS, "--timeout", "200ms", *more)
        assert result.exit_code == 1
        assert "stopped after 0.2 s: ask for less at a time, or give it more with --timeout" in result.output
    assert not (tmp_path / "new.csv").exists()
