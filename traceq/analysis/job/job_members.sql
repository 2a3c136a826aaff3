-- The slices of one window's matched collectives, as arrays are made of them.
select
    s.trace_id,
    s.slice_id,
    s.unit,
    dense_rank() over (partition by s.unit order by s.stream) - 1 as stream,
    s.ts,
    s.ts_end,
    m.match_id,
    -- nobody waits for what was sent, nor for what others hid but for 20 us (the least claim)
    not s.is_send and s.blocking > 20000 as blocks,
    coalesce(s.origin, 0) as origin,
    dense_rank() over (order by c.group_id) - 1 as group_number,
    -- bytes that differ between the ranks of a collective do not tell stages apart
    dense_rank() over (order by s.op, s.is_send, c.bytes, s.group_size) - 1 as signature,
    coalesce(s.step, -1) as step,
    s.op in $symmetric and c.members > 1 as tells_clock,
    s.op = 'barrier' as is_barrier,
    coalesce(s.is_send, false) as is_send,
    s.op = 'send_recv' as is_between
from _job_slice as s
inner join collective_member as m
    on m.job = s.job and m.time_window = s.time_window and m.trace_id = s.trace_id and m.slice_id = s.slice_id
inner join collective_match as c on c.job = m.job and c.time_window = m.time_window and c.match_id = m.match_id
where s.job = $job and s.time_window = $time_window
order by s.unit, s.ts, s.slice_id
