"""Small regressions put into real traces: steps grow by what was asked, and compare finds them and names what was slowed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from statistics import median

import pytest
from compare_truth import EVEN, ODD, SHOWS, _ingested, _run
from perturbations import SHARED
from regressions import BASES, KINDS, TWINS, HiddenError, build_regression

from traceq.runs.compare.compare import compare

CLOVER = "judged/nsys/pipit_cloverleaf_perlmutter.sqlite"
JACOBI = "traces/nsys/nways_gh200_jacobi.sqlite"

pytestmark = pytest.mark.skipif(not (SHARED / CLOVER).exists(), reason="the folder shared is not beside the checkout")


def read_kernels(path):
    """Start, end and name of all kernels in the raw file, in the order of time."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(
            "select start, end, demangledName from CUPTI_ACTIVITY_KIND_KERNEL order by start"
        ).fetchall()


def measure_periods(path):
    """Median time between two kernels of each name that comes as often as the most frequent one."""
    by_name = {}
    for start, _, name in read_kernels(path):
        by_name.setdefault(name, []).append(start)
    most = max(map(len, by_name.values()))
    return median(
        (starts[-1 - len(starts) // 4] - starts[len(starts) // 4]) / (len(starts) - 1 - 2 * (len(starts) // 4))
        for starts in by_name.values()
        if len(starts) == most
    )


@pytest.mark.parametrize("kind", ["kernel", "copies", "launches"])
@pytest.mark.parametrize("share", [0.02, 0.1])
def test_steps_of_the_raw_file_are_longer_by_what_was_asked(kind, share, tmp_path):
    path, truth = build_regression(JACOBI, kind, share).make(tmp_path)
    assert measure_periods(path) / measure_periods(SHARED / JACOBI) - 1 == pytest.approx(share, rel=0.1)
    assert truth["size_ns"] / truth["old_ns"] == pytest.approx(share, rel=0.2)


def test_only_the_kernel_that_is_slowed_takes_longer(tmp_path):
    path, truth = build_regression(CLOVER, "kernel", 0.05).make(tmp_path)
    lengths = [{}, {}]
    for place, file in enumerate((SHARED / CLOVER, path)):
        for start, end, name in read_kernels(file):
            lengths[place][name] = lengths[place].get(name, 0) + end - start
    grown = [name for name in lengths[0] if lengths[0][name] != lengths[1][name]]
    assert len(grown) == 1
    assert truth["edit"].startswith("void clover::")


def test_what_the_program_hides_is_no_regression(tmp_path):
    with pytest.raises(HiddenError):
        build_regression("traces/nsys/myclue_report3.sqlite", "loader", 0.1).make(tmp_path)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """The database of the recorded trace."""
    return _ingested(SHARED / CLOVER, tmp_path_factory.mktemp("base") / "base.duckdb")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["kernel", "copies", "gap", "launches"])
def test_compare_finds_it_and_names_what_was_slowed(kind, base, tmp_path):
    """The odd steps of the recorded trace against the even steps of the slowed one."""
    slowed, _ = build_regression(CLOVER, kind, 0.1).make(tmp_path)
    new = _ingested(slowed, tmp_path / "new.duckdb")
    found = compare([_run(base, ODD)], [_run(new, EVEN)])
    assert found.verdict == "regression", found.reasons
    assert found.change.share == pytest.approx(0.1, abs=0.02)
    assert found.named[0].category.startswith(SHOWS[kind])
    if kind == "kernel":
        assert found.named[0].how == "slower"


def test_compare_finds_nothing_in_the_trace_as_recorded(base):
    assert compare([_run(base, ODD)], [_run(base, EVEN)]).verdict in ("no change", "cannot tell")


def test_all_bases_are_there():
    assert [base for base in (*BASES, *TWINS) if not (SHARED / base).exists()] == []
    assert SHOWS.keys() == KINDS.keys()
