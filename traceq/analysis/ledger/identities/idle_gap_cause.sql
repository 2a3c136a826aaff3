-- The causes of a gap add up to it, each has time, and the gap's own is the largest.
with
part as (
    select c.gap_id, c.dur, c.cause = g.cause as is_own
    from idle_gap_cause as c
    left join idle_gap as g on g.trace_id = c.trace_id and g.gap_id = c.gap_id
    where c.trace_id = $trace_id
),

total as (
    select gap_id, sum(dur) as dur, max(dur) as longest, min(dur) as shortest, max(dur) filter (is_own) as own
    from part
    group by gap_id
)

select
    gap_id,
    t.dur is distinct from g.dur or t.own is distinct from t.longest or t.shortest <= 0 as is_broken,
    'gap ' || gap_id as place
from (select gap_id, dur from idle_gap where trace_id = $trace_id) as g
full join total as t using (gap_id)
