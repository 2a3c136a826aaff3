-- Idle time in which the host fetched input, by gap and fetch: each has what it filled of the gap.
select
    p.step, p.ts, p.cause, p.gap_id,
    coalesce(c.context_id, c.slice_id) as fetch_id,
    sum(k.dur)::bigint as dur
from idle_piece as p
inner join idle_culprit as k using (trace_id, gap_id, cause)
inner join cpu_slice as c on c.trace_id = k.trace_id and c.slice_id = k.slice_id
where p.trace_id = $trace_id and p.device = $device and p.cause = 'idle_data'
group by all
