-- Collectives whose bandwidth on the bus is far below what smaller ones of the same group reach: what they take longer for it.
-- uses: busy
-- categories: communication
with
slice as (
    select b.step, b.ts, b.dur, b.name, b.slice_id, b.ledger_dur, c.op, c.bytes, c.group_size, c.group_name, c.bus_bandwidth
    from busy as b
    inner join collective_slice as c on c.trace_id = b.trace_id and c.slice_id = b.slice_id
    where
        b.category = 'communication'
        and c.bus_bandwidth > 0
        and c.bytes >= $least
        and c.group_name is not null
        and c.op in ('all_reduce', 'all_gather', 'reduce_scatter')
),

-- the best of a class has waited least: that of a class where all wait says nothing of the link, so the class must have many
class as (
    select group_name, op, bytes, max(bus_bandwidth) as best, count(*) as number
    from slice
    group by group_name, op, bytes
),

reached as (
    select *, max(best) over (partition by group_name order by bytes range between unbounded preceding and current row) as reachable
    from class
)

select
    s.step,
    s.ts,
    s.dur,
    s.name,
    s.slice_id,
    -- only what its own best is slower than the bus: the rest is waiting for ranks
    least(s.ledger_dur, s.dur * (s.bus_bandwidth / r.best) * (1 - r.best / r.reachable)) as claimed,
    'communication' as cause,
    s.slice_id as busy_id,
    s.op,
    s.bytes,
    s.group_size,
    r.best as best_bandwidth,
    r.reachable as reachable_bandwidth
from slice as s
inner join reached as r on r.group_name = s.group_name and r.op = s.op and r.bytes = s.bytes
where r.best < $far * r.reachable and r.number >= $fewest and s.ledger_dur > 0
