-- Host slices that filled a gap add up to its causes, where a slice is what a cause is told by; each is in it for no longer than both last.
with
part as (
    select
        c.gap_id,
        c.cause,
        sum(c.dur) as dur,
        bool_or(coalesce(c.dur <= 0 or c.dur > least(g.ts_end, s.ts_end) - greatest(g.ts, s.ts), true)) as is_beyond
    from (select gap_id, cause, slice_id, dur from idle_culprit where trace_id = $trace_id) as c
    left join idle_gap as g on g.trace_id = $trace_id and g.gap_id = c.gap_id
    left join cpu_slice as s on s.trace_id = $trace_id and s.slice_id = c.slice_id
    group by c.gap_id, c.cause
)

select
    gap_id,
    cause,
    case
        when c.dur is null or p.is_beyond then true
        when cause in ('idle_launch_latency', 'idle_dependency', 'idle_earlier_work') then p.dur is not null
        when cause in ('idle_unattributed', 'idle_cpu') then coalesce(p.dur > c.dur, false)
        else p.dur is distinct from c.dur
    end as is_broken,
    'gap ' || gap_id || ', ' || cause as place
from (select gap_id, cause, dur from idle_gap_cause where trace_id = $trace_id) as c
full join part as p using (gap_id, cause)
-- in a database from before this table one slice stands for all
where exists (from idle_gap_cause where trace_id = $trace_id and slice_dur is not null)
