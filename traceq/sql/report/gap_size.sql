-- Gaps of the counted steps by size, smallest first: many small ones or few large ones.
select bucket, count(*) as gaps, sum(dur)::bigint as dur
from (
    select
        g.dur,
        case
            when g.dur < 10_000 then 'below 10 us'
            when g.dur < 100_000 then 'below 100 us'
            when g.dur < 1_000_000 then 'below 1 ms'
            when g.dur < 10_000_000 then 'below 10 ms'
            else '10 ms and above'
        end as bucket
    from idle_gap as g
    inner join step as s using (trace_id, step)
    where g.trace_id = $trace_id and s.excluded is null
)
group by bucket
order by min(dur)
