"""On which line each key of a TOML file stands."""

from __future__ import annotations

import tomllib

from traceq.runs.budgets.read import find_toml_lines


def test_keys_and_tables_in_every_way_of_writing_them():
    text = '''\
# a comment
[step]            # 2
p95 = "1 ms"      # 3

"p99" = "2 ms"    # 5
[[sql]]           # 6
name = "a"        # 7
query = """       # 8
[step]
p50 = 1 ]
"""
max = 1           # 12
[[sql]]           # 13
name = "b"        # 14

[findings]        # 16
any = [           # 17
  "x",
]
'''
    assert find_toml_lines(text) == {
        ("step",): 2,
        ("step", "p95"): 3,
        ("step", "p99"): 5,
        ("sql",): 6,
        ("sql", 0): 6,
        ("sql", 0, "name"): 7,
        ("sql", 0, "query"): 8,
        ("sql", 0, "max"): 12,
        ("sql", 1): 13,
        ("sql", 1, "name"): 14,
        ("findings",): 16,
        ("findings", "any"): 17,
    }
    tomllib.loads(text)


def test_dotted_keys_inline_tables_and_windows_lines():
    assert find_toml_lines('step.p95 = "1 ms"\r\n\r\nledger = { idle = "1 %" }\r\n') == {
        ("step",): 1,
        ("step", "p95"): 1,
        ("ledger",): 3,
        ("ledger", "idle"): 3,
    }


def test_a_long_text_takes_no_long_time():
    text = '[[sql]]\nquery = """\n' + "select 1 -- x\n" * 50_000 + '"""\nmax = 1\n'
    assert find_toml_lines(text)["sql", 0, "max"] == 50_004
