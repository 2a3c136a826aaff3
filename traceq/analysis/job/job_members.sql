-- The slices of one window's matched collectives, as arrays are made of them.
-- reads: _job_member, collective_match
with
stream as (
    select unit, stream, dense_rank() over (partition by unit order by stream) - 1 as number
    from (select distinct unit, stream from _job_member where job = $job and time_window = $time_window and match_id is not null)
),

collective as (
    select
        match_id,
        op in $symmetric and members > 1 as tells_clock,
        dense_rank() over (order by group_id) - 1 as group_number,
        -- bytes that differ between the ranks of a collective do not tell stages apart
        dense_rank() over (order by op, bytes, group_size) - 1 as kind
    from collective_match
    where job = $job and time_window = $time_window
)

select
    m.trace_id, m.slice_id, m.unit,
    s.number::integer as stream,
    m.ts,
    m.ts_end,
    m.match_id::integer as match_id,
    -- nobody waits for what was sent, nor for what others hid but for 20 us (the least claim)
    not m.is_send and m.blocking > _least_claim() as blocks,
    coalesce(m.origin, 0) as origin,
    c.group_number::integer as group_number,
    (2 * c.kind + m.is_send::integer)::integer as signature,
    coalesce(m.step, -1) as step,
    c.tells_clock,
    m.op = 'barrier' as is_barrier,
    m.is_send,
    m.op = 'send_recv' as is_between
from _job_member as m
inner join stream as s on s.unit = m.unit and s.stream = m.stream
inner join collective as c on c.match_id = m.match_id
where m.job = $job and m.time_window = $time_window
order by m.unit, m.ts, m.slice_id
