from __future__ import annotations


def _steps(trace):
    for number in range(3):
        trace.annotation(f"ProfilerStep#{number}", number * 2_000_000, 2_000_000)
        yield number * 2_000_000


def _round(trace, ts, names, first="aten::select"):
    """An indexing operator, then others of which each launches a kernel; 10 us each."""
    trace.op(first, ts, 4_000)
    for number, name in enumerate(names, 1):
        at = ts + number * 10_000
        trace.op(name, at, 9_000)
        trace.kernel(f"k_{name}", at + 8_500, 2_000, launched=(at + 3_000, 4_000))


def found(trace):
    """Twenty rows, one after the other."""
    for start in _steps(trace):
        trace.op("aten::mm", start + 1_000, 20_000)
        for number in range(20):
            _round(trace, start + 30_000 + number * 40_000, ["aten::add", "aten::copy_"])


def found_last_round_is_longer(trace):
    """Ten equal rounds; what follows the loop has no indexing operator before it."""
    for start in _steps(trace):
        for number in range(11):
            _round(trace, start + 30_000 + number * 40_000, ["aten::mul", "aten::add"])
        for number in range(20):
            trace.op("aten::relu", start + 600_000 + number * 10_000, 9_000)


def clean_layers(trace):
    """Each layer indexes once, and does much more."""
    for start in _steps(trace):
        for number in range(12):
            _round(trace, start + number * 140_000, [f"aten::op{each}" for each in range(9)])


def clean_few(trace):
    """Query, key and value of two layers."""
    for start in _steps(trace):
        for number in range(6):
            _round(trace, start + 30_000 + number * 40_000, ["aten::mul"])


def clean_mixed(trace):
    """Many indexing operators with something else behind each."""
    for start in _steps(trace):
        for number in range(20):
            _round(trace, start + 30_000 + number * 60_000, [f"aten::op{number}", "aten::add"][: 1 + number % 2])


def cannot_tell(trace):
    """No operators."""
    for start in _steps(trace):
        trace.kernel("gemm", start + 20_000, 300_000, launched=(start + 5_000, 5_000))
