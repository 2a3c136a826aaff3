"""The report's charts, a file each: what draws it, applies(), alt(), which says it in words, and CHART, which says where it goes.

Only drawing needs matplotlib, and imports it; its figures belong to nobody: no pyplot, no window.
"""

from __future__ import annotations

from traceq.reports.charts import (
    gaps,
    job_bandwidth,
    job_grid,
    job_late,
    job_own,
    job_worst,
    memory,
    roofline,
    step_ledger,
    step_times,
)

# Of one trace each; ranks.py compares several.
CHARTS = (step_ledger.CHART, step_times.CHART, gaps.CHART, roofline.CHART, memory.CHART)

# Of several ranks as one job.
CHARTS_OF_JOBS = (job_late.CHART, job_own.CHART, job_grid.CHART, job_worst.CHART, job_bandwidth.CHART)
