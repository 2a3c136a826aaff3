-- The annotations of one thread whose name is $pattern up to digits; those inside what the program itself calls warming up do not
-- count.
select
    name, thread_id, ts, ts_end as own_end,
    if(
        exists (
            select 1
            from cpu_slice as u
            where u.kind = 'annotation' and regexp_matches(u.name, '(?i)warm[ _-]?up') and c.ts >= u.ts and c.ts < u.ts_end
        ),
        'the program marks it as warming up',
        null
    ) as excluded
from cpu_slice as c
where
    kind in ('annotation', 'op')
    and thread_id = $thread_id
    and dur > 0
    and regexp_replace(regexp_replace(name, ', (op_id|seq) = .*$', ''), '[0-9]+', '#', 'g') = $pattern
order by ts;
