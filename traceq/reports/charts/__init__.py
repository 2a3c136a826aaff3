"""The report's charts, each a Chart: what draws it, when and where, and what says it in words.

They are drawn as SVG (svg.py); matplotlib (figure.py) makes figures and PNG files of the same drawings.
"""

from __future__ import annotations

from traceq.reports.charts import axes, gaps, job, loads, memory, roofline, run, snapshot, steps

# Of one trace each; ranks.py compares several, and activity.py is drawn on pages only.
CHARTS = (
    steps.LEDGER,
    steps.TIMES,
    run.CHART,
    gaps.CHART,
    roofline.CHART,
    memory.CHART,
    snapshot.COURSE,
    snapshot.HOLDERS,
)

# Of several ranks as one job.
CHARTS_OF_JOBS = (
    job.LATE,
    job.OWN,
    job.GRID,
    job.WORST,
    job.BANDWIDTH,
    axes.WAITS,
    axes.PAIRS,
    loads.LOADS,
    loads.EXCHANGED,
)
