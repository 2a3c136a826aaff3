-- By how much each rank came later to its first matched collective than the first rank did, ns, and by how much later than that one's its
-- recording (its first counted step, where it has any) begins. The one that the critical path begins with first, then the last.
with
counted as (
    select trace_id, min(ts) as begins
    from step
    where excluded is null
    group by trace_id
),

began as (
    select
        r.unit,
        coalesce(t.utc_origin_ns, 0) - coalesce(r.clock_offset, 0) + greatest(t.ts, c.begins) as begins
    from job_rank as r
    inner join trace as t using (trace_id)
    left join counted as c using (trace_id)
    where r.job = $job and r.time_window = $time_window
),

arrived as (
    select
        m.unit,
        bool_or(m.on_path) as on_path,
        coalesce(bool_or(m.on_path and c.op = 'send_recv'), false) as of_send,
        min(m.own) as later_ns
    from collective_member as m
    left join collective_match as c using (job, time_window, match_id)
    where m.job = $job and m.time_window = $time_window and m.match_id is not null and m.own_begins is null
    group by m.unit
)

select
    r.rank,
    a.later_ns,
    b.begins - first_value(b.begins) over (order by a.later_ns, a.unit) as begins_later_ns,
    a.on_path,
    a.of_send
from arrived as a
inner join job_rank as r on r.job = $job and r.time_window = $time_window and r.unit = a.unit
left join began as b on b.unit = a.unit
order by a.on_path desc, a.later_ns desc, r.rank
limit 16
