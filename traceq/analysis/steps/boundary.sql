-- Where rounds of launches start on the host: after what the launch before the first of each is part of.
-- $befores: those launches' threads and times, and the time of the first launch, one element a round.
with recursive
border as (
    select unnest(range(len($threads))) + 1 as round, unnest($threads) as thread_id, unnest($settled) as settled,
        unnest($launched) as launched, unnest($until) as until
),

around as (
    select b.round, b.settled, b.until, c.slice_id, c.parent_id, c.kind, c.ts_end
    from border as b
    inner join cpu_slice as c on c.thread_id = b.thread_id and c.ts = b.launched and c.kind = 'runtime'
    union all
    select a.round, a.settled, a.until, p.slice_id, p.parent_id, p.kind, p.ts_end
    -- There are fewer by far. Said here, they are what is hashed, and not all slices of the trace.
    from (from around limit 3000000) as a
    inner join cpu_slice as p on p.slice_id = a.parent_id
    where p.ts_end <= a.until
)

select b.round, greatest(b.settled, coalesce(max(a.ts_end) filter (a.kind in ('op', 'python')), b.settled)) as ts
from border as b
left join around as a using (round)
group by b.round, b.settled
order by b.round;
