-- The ranks of one window of a job: what each does by itself, and what it waits for others; compute and communication are those
-- of its ledger, from the first counted step to the last.
with
blame as (
    select unit, sum(greatest(own - usual, 0))::bigint as holds_up
    from collective_member
    where job = $job and time_window = $time_window and on_path and own_begins is not null
    group by unit
),

ledger as (
    select
        l.trace_id,
        l.device,
        coalesce(sum(l.dur) filter (l.category = 'compute'), 0)::bigint as compute,
        coalesce(sum(l.dur) filter (l.category = 'communication'), 0)::bigint as communication,
        sum(l.dur)::bigint as counted
    from time_ledger as l
    inner join step as s using (trace_id, step)
    inner join _counted_span() as p on p.trace_id = s.trace_id and s.ts between p.begins and p.ends
    group by l.trace_id, l.device
)

select
    r.trace_id,
    r.device,
    r.rank,
    r.rank_source,
    r.host,
    r.stage,
    r.clock_offset,
    r.own,
    r.transfer,
    r.wait,
    r.late,
    if(r.own is null, null, coalesce(b.holds_up, 0)) as holds_up,
    r.late_count,
    r.win,
    l.compute,
    l.communication,
    l.counted,
    t.dur as recorded,
    coalesce(s.is_usual, false) as is_usual,
    r.dp
from job_rank as r
inner join trace as t using (trace_id)
left join blame as b using (unit)
left join ledger as l on l.trace_id = r.trace_id and l.device = r.device
left join job_suspect as s on s.job = r.job and s.time_window = r.time_window and s.unit = r.unit
where r.job = $job and r.time_window = $time_window
order by r.unit
