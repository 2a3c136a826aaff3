-- Whether most of the rounds that start at `starts` on `threads` lie in one call of a module: its layers do.
select coalesce(max(inside) > 0.5 * len($starts), false)
from (
    select count(*) as inside
    from cpu_slice as c
    inner join (select unnest($threads) as thread_id, unnest($starts) as ts) as r
        on r.thread_id = c.thread_id and r.ts >= c.ts and r.ts < c.ts_end
    where c.kind = 'python' and regexp_matches(c.name, '^nn\.Module: |\.py\(\d+\): forward$')
    group by c.slice_id
    having count(*) > 1
);
