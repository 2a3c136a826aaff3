-- A group by over the segments: they never cross a step and never overlap, so the parts add up to the step. Idle segments are
-- the gaps, whose causes add up to them.
-- reads: device_activity, idle_gap, idle_gap_cause
-- makes: time_ledger

insert into time_ledger
select trace_id, device, step, category, sum(dur)::bigint as dur
from (
    select trace_id, device, step, category, dur
    from device_activity
    where step is not null and category <> 'idle'
    union all
    select c.trace_id, g.device, g.step, c.cause, c.dur
    from idle_gap_cause as c
    inner join idle_gap as g using (gap_id)
)
group by all
order by device, step, category;
