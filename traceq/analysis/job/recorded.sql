-- The matched collectives of one window of a job, slice by slice, with what its tables say of them: what a replay needs.
-- reads: collective_match, collective_member, collective_slice
select
    m.unit,
    dense_rank() over (partition by m.unit order by s.stream) - 1 as stream,
    g.ts,
    g.ts_end,
    dense_rank() over (order by m.match_id) - 1 as match,
    -- as in job_members.sql: nobody waits for what was sent, nor for what others hid
    s.op <> 'send' and coalesce(s.blocking, s.exposed) > _least_claim() as blocks,
    m.own,
    coalesce(m.usual, m.own) as usual,
    c.transfer,
    m.wait,
    -- what ranks do not leave together, as in job_uneven.sql
    c.op,
    c.op in $ops and (c.op <> 'all_to_all' or c.wait_source = 'arrival') as is_uneven,
    coalesce(c.root_unit, -1) as root
from collective_member as m
inner join collective_match as c using (job, time_window, match_id)
inner join collective_slice as s on s.trace_id = m.trace_id and s.slice_id = m.slice_id
inner join gpu_slice as g on g.trace_id = m.trace_id and g.slice_id = m.slice_id
where m.job = $job and m.time_window = $time_window and m.match_id is not null
order by m.unit, g.ts, g.slice_id
