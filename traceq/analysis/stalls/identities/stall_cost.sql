-- No gap is owed to stalls for longer than its cause has in it, and on no device costs a stall more than it lasts.
with
owed as (
    select 'gap ' || s.gap_id || ', ' || s.cause as place, sum(s.dur) as dur, any_value(c.dur) as most
    from stall_cost as s
    left join idle_gap_cause as c on c.trace_id = s.trace_id and c.gap_id = s.gap_id and c.cause = s.cause
    where s.trace_id = $trace_id and s.gap_id is not null
    group by s.gap_id, s.cause
    union all
    select 'stall ' || s.stall_id || ' on device ' || g.device, sum(s.dur), any_value(h.dur)
    from stall_cost as s
    inner join idle_gap as g using (trace_id, gap_id)
    left join host_stall as h on h.trace_id = s.trace_id and h.stall_id = s.stall_id
    where s.trace_id = $trace_id
    group by s.stall_id, g.device
)

select place, coalesce(dur > most, true) as is_broken
from owed
