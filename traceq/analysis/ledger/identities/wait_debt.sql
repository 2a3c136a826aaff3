-- No gap is owed to waits for longer than it lasts beside them, and no wait owes more than it held the host.
with
owed as (
    select 'gap ' || d.gap_id as place, sum(d.dur) as dur, any_value(g.dur - coalesce(c.dur, 0)) as most
    from wait_debt as d
    inner join idle_gap as g using (trace_id, gap_id)
    left join idle_gap_cause as c on c.trace_id = d.trace_id and c.gap_id = d.gap_id and c.cause = 'idle_sync'
    where d.trace_id = $trace_id
    group by d.gap_id
    union all
    select 'cpu_slice ' || d.slice_id || ' on device ' || g.device, sum(d.dur), any_value(s.dur)
    from wait_debt as d
    inner join idle_gap as g using (trace_id, gap_id)
    left join cpu_slice as s on s.trace_id = d.trace_id and s.slice_id = d.slice_id
    where d.trace_id = $trace_id
    group by d.slice_id, g.device
)

select place, coalesce(dur > most, true) as is_broken
from owed
