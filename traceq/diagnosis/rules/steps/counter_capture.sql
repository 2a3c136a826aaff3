-- Captures of counters: kernels run again and again for them, so that times are not those of the program.
-- title: The capture measures counters, not times
-- finds: Captures with CUPTI's range profiler on (PyTorch's CuptiProfilerConfig): they have counters for each kernel, but no
--   kernels.
-- matters: To read counters the profiler runs one kernel at a time, some of them several times, and blocks the launch call in
--   the meantime. Steps take many times as long as without it, and no time in the file is the program's own.
-- measured: Slices of category cuda_profiler_range, and the time of calls that launch.
-- try: A timeline in one run, counters in another.
-- references: https://docs.nvidia.com/cupti/main/main.html#cupti-range-profiling-api
-- remark: {% if facts.ranges -%} The file has the counters of {{ plural(facts.ranges, 'kernel') }} instead of their times.
--   Reading them keeps the host in launch calls for {{ time(facts.launch_ns) }} ({{ percent(share_of(facts.launch_ns,
--   facts.total_ns)) }} of the analysed time): this capture does not show how fast the program is. {%- endif %}
-- fix: Capture a timeline without counters: torch.profiler without experimental_config's profiler_metrics. Measure counters of
--   individual kernels in a separate run.
-- for: pytorch
-- needs: steps
-- remarks: yes
-- captures: every
-- uses: counted
select
    (select count(*) from cpu_slice where trace_id = $trace_id and category = 'cuda_profiler_range') as ranges,
    coalesce(sum(dur) filter (category = 'launch'), 0) as launch_ns,
    coalesce(sum(dur), 0) as total_ns
from host_ledger
inner join counted using (step)
where trace_id = $trace_id
