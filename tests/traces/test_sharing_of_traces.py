"""Parts of the real traces say of their steps what the whole says; traces without names give the same report but for these."""

from __future__ import annotations

from pathlib import Path

import database_diff
import pytest
from excerpt_checks import differences
from trace_files import NSYS, SHARED, TORCH, parametrize_paths

from traceq.app.anonymise import anonymise
from traceq.app.api import trim
from traceq.app.ingest import ingest as ingest_judged
from traceq.database.connect import connect
from traceq.loading.ingest import ingest
from traceq.loading.options import TraceOptions
from traceq.sharing.secrets import find_secrets

JUDGED = [
    *sorted((SHARED / "judged" / "torch").rglob("*.json*")),
    *sorted((SHARED / "judged" / "nsys").glob("*.sqlite*")),
]


def read_suffix(path: Path) -> str:
    return ".json.gz" if ".json" in path.name else ".sqlite"


def open_anonymized(path: Path, target: Path, **options: str):
    ingest([path], target, options=TraceOptions(**options))
    return connect(target)


def list_step_numbers(connection) -> list[int]:
    """The steps as --steps names them."""
    rows = connection.execute("select step, name from step order by step").fetchall()
    own = [name.rpartition("#")[2] for _, name in rows if "#" in name]
    return (
        [int(each) for each in own]
        if len(own) == len(rows) and all(map(str.isdigit, own))
        else [step for step, _ in rows]
    )


def check_steps(whole, path: Path, folder: Path) -> None:
    found = list_step_numbers(whole)
    assert found
    middle = found[len(found) // 2]
    for first, last in {(middle, middle), (found[:2][-1], found[:3][-1])}:
        part = folder / f"part-{first}-{last}{read_suffix(path)}"
        trim(path, part, steps=f"{first}..{last}", force=True)
        with open_anonymized(part, folder / f"{first}-{last}.duckdb") as connection:
            assert differences(whole, connection) == {}


def check_window(path: Path, folder: Path) -> None:
    """A third of the GPU's time, wherever that cuts steps."""
    with open_anonymized(path, folder / "gpu.duckdb", window="gpu") as connection:
        ((span,),) = connection.execute("select max(ts_end) - min(ts) from step").fetchall()
    window = f"{span * 37 // 100}ns..{span * 61 // 100}ns"
    part = folder / f"window{read_suffix(path)}"
    trim(path, part, window=window, force=True)
    with (
        open_anonymized(path, folder / "whole.duckdb", window=window) as whole,
        open_anonymized(part, folder / "part.duckdb") as connection,
    ):
        assert differences(whole, connection) == {}


@pytest.mark.slow
@parametrize_paths([*TORCH, *NSYS])
def test_steps_cut_out_are_those_of_the_whole(path, databases, tmp_path):
    check_steps(databases(path), path, tmp_path)


@pytest.mark.slow
@parametrize_paths([*TORCH, *NSYS])
def test_a_window_cut_out_is_that_of_the_whole(path, tmp_path):
    check_window(path, tmp_path)


@pytest.mark.slow
@parametrize_paths(JUDGED)
def test_steps_and_windows_cut_out_of_judged_traces(path, tmp_path):
    with open_anonymized(path, tmp_path / "steps.duckdb") as whole:
        check_steps(whole, path, tmp_path)
    check_window(path, tmp_path)


@pytest.mark.slow
@parametrize_paths([*TORCH, *NSYS, *JUDGED])
def test_the_report_is_the_same_without_names(path, tmp_path):
    shared = tmp_path / f"shared{read_suffix(path)}"
    anonymise(path, shared, force=True)
    assert find_secrets(shared) == []
    for source, target in ((path, "named.duckdb"), (shared, "shared.duckdb")):
        ingest_judged([source], tmp_path / target)
    with connect(tmp_path / "named.duckdb") as named, connect(tmp_path / "shared.duckdb") as nameless:
        assert database_diff.differences(named, nameless) == {}
