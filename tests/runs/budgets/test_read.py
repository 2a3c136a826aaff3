"""From a file of budgets to budgets: what it says, and what is wrong with it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from traceq.errors import UnusableBudget
from traceq.runs.budgets.budget import Compare, Limit
from traceq.runs.budgets.read import read

WHOLE = """\
[step]
typical = "120 ms"
p95 = "<= 1.5s"

[throughput]
samples = 900.5
tokens = ">= 1000 /s"

[ledger]
idle_data = "200 µs"
idle = "2.5%"
compute = ">= 80 %"

[findings]
host-bound = "absent"
any = "5 %"

[[sql]]
name = "peak"
query = "select max(allocated) from memory_timeline"
max = "3 ms"
unit = "ns"

[[sql]]
name = "rows"
query = "select 1"
min = 0.1
max = 2

[compare]
baseline = "main"
max_regression = "3 %"
level = 0.05
noise = "0.4 %"
"""


@pytest.fixture
def written(tmp_path):
    def write(content):
        path = tmp_path / "traceq.toml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_a_whole_file(written):
    found = read(written(WHOLE))
    lines = [
        f"{each.table} {each.name} {each.line} "
        + ", ".join(f"{limit.bound} {limit.amount} {limit.unit}".rstrip() for limit in each.limits)
        for each in found.budgets
    ]
    assert lines == [
        "step typical 2 at most 120000000 ns",
        "step p95 3 at most 1500000000 ns",
        "throughput samples 6 at least 1801/2 /s",
        "throughput tokens 7 at least 1000 /s",
        "ledger idle_data 10 at most 200000 ns",
        "ledger idle 11 at most 1/40 share",
        "ledger compute 12 at least 4/5 share",
        "findings host-bound 15 ",
        "findings any 16 at most 1/20 share",
        "sql peak 18 at most 3000000 ns",
        "sql rows 24 at least 1/10, at most 2",
    ]
    assert found.compare == Compare("main", Fraction(3, 100), 0.05, "0.4 %", 32)


def test_nothing_is_no_budget(written):
    found = read(written("\ufeff# nothing\n"))
    assert (found.budgets, found.compare.is_asked) == ((), False)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            "[step]\np95 = '1 ms'\np59 = '1 ms'",
            "line 3: [step] p59: unknown key; did you mean: p99, p95, p90?",
        ),
        ("[steps]", "line 1: steps: unknown key; did you mean: step?"),
        ("p95 = '1 ms'", "line 1: p95: unknown key; there are step, throughput,"),
        ("step = 5", "line 1: step: must be a table: [step]"),
        ("[step]\np95 = 120", 'line 2: [step] p95: 120 is not a limit here: write a time as "120 ms"'),
        ("[step]\np95 = true", "p95: True is not a limit here"),
        ("[ledger]\nidle = 5", 'idle: 5 is not a limit here: write a text as "120 ms" or "3 %"'),
        ("[throughput]\nsamples = true", "samples: True is not a limit here: write a number a second as 900"),
        ("[step]\np95 = '3 %'", "p95: '3 %' is not a duration"),
        ("[step]\np95 = '< 3 ms'", "p95: '< 3 ms' is not a duration"),
        ("[step]\np95 = '120'", "p95: '120' is not a duration"),
        ("[ledger]\nidle_dat = '1 ms'", "idle_dat: unknown key; did you mean: idle_data"),
        ("[ledger]\nidle = '-3 %'", "idle: '-3 %' is not a percentage"),
        ("[throughput]\nsamples = 'fast'", "samples: 'fast' is not a rate"),
        ("[throughput]\nsamples = inf", "samples: Infinity is not a limit"),
        ("[throughput]\nsamples = nan", "samples: NaN is not a limit"),
        ("[findings]\nhost_bound = 'absent'", "unknown rule; did you mean: host-bound"),
        ("[findings]\ntail-latency = 'absent'", "this rule only makes remarks"),
        ("[findings]\nhost-bound = '0.5 %'", "1 % of the step is not a finding"),
        ("[findings]\nhost-bound = '>= 5 %'", "can have a maximum but no minimum"),
        ("[findings]\nhost-bound = false", 'write "absent"'),
        ("[[sql]]\nquery = 'select 1'\nmax = 1", "[sql] name: is missing"),
        ("[[sql]]\nname = 'a'\nmax = 1", "[sql] query: is missing"),
        ("[[sql]]\nname = 'a'\nquery = 'select 1'", "line 1: [sql] has no limit: add max, or min"),
        ("[[sql]]\nname = 'a'\nquery = 'select 1'\nmaximum = 1", "line 4: [sql] maximum: unknown key"),
        ("[[sql]]\nname = 'a'\nquery = 'select 1'\nmax = '5 ms'", "max: '5 ms' is not a number"),
        ("[[sql]]\nname = 'a'\nquery = 'x'\nmax = 1\nmin = 2", "line 5: [sql] min: is more than max"),
        ("[[sql]]\nname='a'\nquery='x'\nmax=1\n" * 2, "line 6: [sql] name: budget 'a' already exists"),
        ("[sql]\nname = 'a'", "sql: must be tables: [[sql]]"),
        ("[compare]\nmax_regression = 0.03", "max_regression: 0.03 is not a percentage of the step"),
        ("[compare]\nlevel = 2", "level: 2 is not a probability"),
        ("[compare]\nnoise = 0.004", 'noise: must be a share of the step, as "0.8 %", or the name of a baseline'),
        ("[compare]\nbaseline = 3", "baseline: must be the name"),
        ("[step", "is not valid TOML: "),
        ("[step]\np95='1 ms'\np95='2 ms'", "is not valid TOML: "),
        (b"\xff", "is not UTF-8 (byte 0)"),
        ("x = " + "[" * 100_000, "is not a budget file: its values are nested too deeply"),
        ("# " + "x" * (1 << 20), "is larger than 1 MiB"),
        ("a" + ".a" * 400_000 + " = 1", "has more than 1,000 dots in a line"),
        (f"[step]\ntypical = {'9' * 6000}", "is not a budget file: it has a number with too many digits"),
        (
            "[throughput]\nsamples = 1e99999999999999999999",
            "is not a budget file: it has a number with too many digits",
        ),
        ("[throughput]\nsamples = 1e999999999", "samples: 1E+999999999 is not a limit"),
        (f"[throughput]\nsamples = {'9' * 4000}", "samples: 9999"),
        (f"[throughput]\nsamples = 0x{'f' * 6000}", "samples: a number with too many digits is not a limit"),
        (f"[step]\ntypical = [0x{'f' * 6000}]", "typical: a number with too many digits is not a limit here"),
        ("[step]\ntypical = 2026-01-01", "typical: datetime.date(2026, 1, 1) is not a limit here"),
        ("[compare]\nlevel = nan", "level: NaN is not a limit"),
        ("[compare]\nlevel = 1e-999999999", "level: 1E-999999999 is not a limit"),
        ("x = [\n" + "[1],\n" * 100_000 + "]", "x: unknown key"),
    ],
)
def test_what_is_wrong_is_said_with_file_line_and_key(written, content, said):
    path = written(content)
    with pytest.raises(UnusableBudget) as error:
        read(path)
    assert str(error.value).startswith(str(path))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UnusableBudget, match=r"cannot be read: No such file"):
        read(tmp_path / "none.toml")


def test_a_limit_holds_at_its_amount():
    assert Limit("at most", Fraction(3), "").holds(Fraction(3))
    assert not Limit("at most", Fraction(3), "").holds(Fraction(3) + Fraction(1, 10**12))
    assert Limit("at least", Fraction(3), "").holds(Fraction(3))
