-- What part of gaps of the critical device calls that waited are to blame for (wait_debt): beside the time in which the call still waits.
-- Once the next work has been launched the wait is over: what that then waits for longer than a launch takes is not theirs.
-- Not calls that waited, for at least half of their time, for a collective to which another rank came late: without them the host would
-- wait for that rank at the next collective.
-- threshold: queued_ns = 100000: twenty times a launch (5 us): the work waited for something else than being launched
with
wait as (
    select c.slice_id, c.ts, c.ts_end
    from cpu_slice as c
    where c.trace_id = $trace_id and c.slice_id in (select slice_id from wait_debt where trace_id = $trace_id)
),

late as (
    select w.slice_id
    from collective_transfer as t
    inner join gpu_slice as g using (trace_id, slice_id)
    inner join wait as w on w.ts < g.ts_end and w.ts_end > g.ts + t.transfer
    where t.trace_id = $trace_id and g.device = $device
    group by w.slice_id
    having sum(least(w.ts_end, g.ts_end) - greatest(w.ts, g.ts + t.transfer)) >= 0.5 * any_value(w.ts_end - w.ts)
),

waiting as (
    select gap_id, sum(dur) as dur
    from idle_gap_cause
    where trace_id = $trace_id and (cause = 'idle_sync' or (cause in ('idle_launch_latency', 'idle_dependency', 'idle_earlier_work') and dur >= $queued_ns))
    group by gap_id
)

select d.gap_id, d.slice_id as call_id, d.dur / (g.dur - coalesce(w.dur, 0)) as share
from wait_debt as d
inner join idle_gap as g using (trace_id, gap_id)
left join waiting as w using (gap_id)
where d.trace_id = $trace_id and g.device = $device and d.slice_id not in (from late)
