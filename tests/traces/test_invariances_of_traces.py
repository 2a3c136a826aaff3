"""What must not change on real traces: all of them with TRACEQ_RANDOM_TRACES set, else a few small ones."""

from __future__ import annotations

import os

import pytest
from trace_files import NSYS, TORCH, parametrize_paths, strip_container
from transformations import (
    SLICES,
    UNIONS,
    after,
    analyzed,
    broken,
    cut_on_device,
    cut_on_host,
    differences,
    host_cuts,
    moved,
    said,
    scaled,
    shifted,
    unchanged,
)

from traceq import importers

SMALL = ("hta_amd_mi250_train", "kineto_2026_before_fix_trace", "nsysai_mock", "testcuda_4streams_report1")
CHOSEN = [path for path in [*NSYS, *TORCH] if "TRACEQ_RANDOM_TRACES" in os.environ or strip_container(path) in SMALL]
LATER = 10**15


@pytest.mark.sample(3)
@parametrize_paths(CHOSEN)
def test_what_must_not_change_does_not(path):
    (importer,) = (one for one in importers.IMPORTERS if one.sniff(path))
    plain = analyzed(importer, path)
    assert broken(plain) == []
    (overlapping,) = plain.execute(
        "select count(*) from import_note where code in ('overlapping_slices', 'child_outlasts_parent')"
    ).fetchone()
    factor = 1 if overlapping else 2
    other = analyzed(importer, path, after(scaled(factor), shifted(LATER)))
    assert differences(said(other, UNIONS | SLICES), moved(said(plain, UNIONS | SLICES), factor, LATER)) == []
    cut = cut_on_host({} if overlapping else host_cuts(plain))
    # where the recurrence of GPU work is all that shows steps, cut work recurs in another way
    recurs = plain.execute("select 1 from step where source = 'recurrence'").fetchone()
    other = analyzed(importer, path, after(unchanged if recurs else cut_on_device, cut))
    assert broken(other) == []
    assert differences(said(other, UNIONS), said(plain, UNIONS)) == []
