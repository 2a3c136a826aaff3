-- The annotations of one thread whose name is $pattern up to digits; those inside what the program itself calls warming up do not
-- count.
with
-- with the end of all ranges that started before: what starts until then lies in one of them
warm_up as (
    select ts, max(ts_end) over (order by ts, ts_end rows unbounded preceding) as until
    from cpu_slice
    where
        kind = 'annotation'
        and name in (from (select distinct name from cpu_slice where kind = 'annotation') where _warms_up(name))
)

select
    c.name, c.thread_id, c.ts, c.ts_end as own_end,
    if(u.until > c.ts, 'the program marks it as warming up', null) as excluded
from cpu_slice as c
asof left join warm_up as u on c.ts >= u.ts
where
    c.kind in ('annotation', 'op')
    and c.thread_id = $thread_id
    and c.dur > 0
    and regexp_replace(regexp_replace(c.name, ', (op_id|seq) = .*$', ''), '[0-9]+', '#', 'g') = $pattern
order by c.ts;
