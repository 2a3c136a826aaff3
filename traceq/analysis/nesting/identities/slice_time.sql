-- A slice ends at its start plus its duration, never before it starts, and lies inside its trace, of which instants of
-- the profiler itself ("Record Window End") are no part.
with
slice as (
    select slice_id, ts, dur, ts_end
    from cpu_slice
    where trace_id = $trace_id and (kind <> 'other' or dur > 0)
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
