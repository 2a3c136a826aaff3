-- The collective of one window of a job that a rank came to latest, on each of its ranks: own time before it, waiting and transfer, ns. It ends
-- on all ranks at once. First collectives do not count: recordings begin apart.
with
later as (
    select match_id
    from collective_member
    where job = $job and time_window = $time_window and match_id is not null
    group by match_id
    having count(own_begins) = count(*)
),

worst as (
    select m.match_id, m.op, m.bytes, m.step, m.transfer
    from collective_match as m
    inner join later using (match_id)
    where m.job = $job and m.time_window = $time_window and m.late_unit is not null
    order by m.late_by desc, m.match_id
    limit 1
)

select
    r.rank,
    w.op,
    w.bytes,
    w.step,
    greatest(c.own, 0) as own,
    c.wait,
    w.transfer
from worst as w
inner join collective_member as c using (match_id)
inner join job_rank as r using (job, time_window, unit)
where c.job = $job and c.time_window = $time_window
order by r.rank
