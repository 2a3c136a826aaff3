-- For each rank how long the critical path of the job is in own time of its beyond the usual, and its share of that of all ranks.
with
beyond as (
    select m.unit, sum(m.own - m.usual)::bigint as beyond_ns, count(*) as arrivals
    from collective_member as m
    where m.job = $job and m.time_window = $time_window and m.on_path and m.own_begins is not null and m.own > m.usual
    group by m.unit
)

select r.rank, b.arrivals, b.beyond_ns, b.beyond_ns / sum(b.beyond_ns) over () as beyond_share
from beyond as b
inner join job_rank as r on r.job = $job and r.time_window = $time_window and r.unit = b.unit
order by b.beyond_ns desc, r.rank
limit 16
