-- Gaps of the critical device, with the call whose delay the host had not made up (idle_gap.late_after): a gap that the start of a step
-- cuts goes on. Not of calls that waited, for at least half of their time, for a collective to which another rank came late: without
-- them the host would wait for that rank at the next collective.
with
wait as (
    select c.slice_id, c.ts, c.ts_end
    from cpu_slice as c
    where
        c.trace_id = $trace_id
        and c.slice_id in (select late_after from idle_gap where trace_id = $trace_id and device = $device)
),

late as (
    select w.slice_id
    from collective_transfer as t
    inner join gpu_slice as g using (trace_id, slice_id)
    inner join wait as w on w.ts < g.ts_end and w.ts_end > g.ts + t.transfer
    where t.trace_id = $trace_id and g.device = $device
    group by w.slice_id
    having sum(least(w.ts_end, g.ts_end) - greatest(w.ts, g.ts + t.transfer)) >= 0.5 * any_value(w.ts_end - w.ts)
)

select g.gap_id, g.ts, nullif(coalesce(g.late_after, e.late_after), l.slice_id) as drained_by
from idle_gap as g
left join idle_gap as e
    on e.trace_id = g.trace_id and e.device = g.device and e.ts_end = g.ts and e.late_after is not null
left join late as l on l.slice_id = coalesce(g.late_after, e.late_after)
where g.trace_id = $trace_id and g.device = $device
