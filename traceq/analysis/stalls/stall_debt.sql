-- What is owed to stalls (found_debt) by the causes of each gap, the largest first, less what stalls in the gap itself cost.
-- reads: idle_gap_cause, stall_cost
-- makes: stall_cost
insert into stall_cost by name
with
taken as (
    select gap_id, cause, sum(dur)::bigint as dur
    from stall_cost
    where gap_id is not null
    group by gap_id, cause
),

part as (
    select
        c.gap_id,
        c.cause,
        sum(c.dur - coalesce(t.dur, 0)) over (partition by c.gap_id order by c.dur desc, c.cause) as until,
        c.dur - coalesce(t.dur, 0) as dur
    from idle_gap_cause as c
    left join taken as t using (gap_id, cause)
    where c.gap_id in (select gap_id from found_debt) and not (c.cause = 'idle_launch_latency' and c.dur >= 100000)
),

owed as (
    select stall_id, gap_id, dur, sum(dur) over (partition by gap_id order by stall_id desc) as until
    from found_debt
)

select
    $trace_id as trace_id,
    o.stall_id, p.cause, o.gap_id,
    (least(o.until, p.until) - greatest(o.until - o.dur, p.until - p.dur))::bigint as dur
from owed as o
inner join part as p using (gap_id)
where least(o.until, p.until) > greatest(o.until - o.dur, p.until - p.dur)
order by o.stall_id, o.gap_id, p.cause;
