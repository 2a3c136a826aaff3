-- Collectives that took much longer than the others of the same operation, group and size: what they took more.
with
slice as (
    select
        b.step,
        b.ts,
        b.dur,
        b.name,
        b.slice_id,
        b.ledger_dur,
        c.op,
        c.bytes,
        c.group_size,
        coalesce(c.group_name, '') as members,
        -- without sizes, only the same one of each step is comparable
        coalesce(c.bytes, -row_number() over (partition by b.step order by b.ts, b.slice_id)) as message,
        count(*) over (partition by b.step) as of_step
    from busy_piece as b
    inner join collective_slice as c on c.trace_id = b.trace_id and c.slice_id = b.slice_id
    where b.trace_id = $trace_id and b.device = $device and b.category = 'communication'
),

usual as (
    select *, mode(of_step) over () as usual_of_step
    from slice
),

class as (
    select op, members, message, median(dur) as typical, quantile_cont(dur, 0.1) as short, quantile_cont(dur, 0.9) as long
    from usual
    where bytes is not null or of_step = usual_of_step
    group by op, members, message
    having count(*) >= $fewest
)

select
    s.step,
    s.ts,
    s.dur,
    s.name,
    s.slice_id,
    least(s.ledger_dur, s.dur - c.typical) as claimed,
    'communication' as cause,
    'communication_of_ranks' as scenario,
    s.slice_id as busy_id,
    s.op,
    s.bytes,
    s.group_size,
    c.typical as typical_ns
from usual as s
inner join class as c on c.op = s.op and c.members = s.members and c.message = s.message
where
    s.dur > $outlier * c.typical
    -- the others agree with each other: where all vary, none is an outlier
    and c.typical <= $steady * c.short
    and c.long <= $outlier * c.typical
    and s.ledger_dur > 0
    and (s.bytes is not null or s.of_step = s.usual_of_step)
