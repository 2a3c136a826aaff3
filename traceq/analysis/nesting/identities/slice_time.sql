-- A slice ends at its start plus its duration, never before it starts, and lies inside its trace. The instant at which
-- PyTorch's profiler stopped is no part of the trace.
with
slice as (
    select slice_id, ts, dur, ts_end
    from cpu_slice
    where trace_id = $trace_id and name <> 'Record Window End'
    union all
    select slice_id, ts, dur, ts_end
    from gpu_slice
    where trace_id = $trace_id
)

select
    s.slice_id,
    s.dur < 0
    or s.ts_end is distinct from s.ts + s.dur
    or coalesce(s.ts < t.ts or s.ts_end > t.ts + t.dur, true) as is_broken,
    'slice ' || s.slice_id as place
from slice as s
cross join (select ts, dur from trace where trace_id = $trace_id) as t
