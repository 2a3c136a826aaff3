-- Communication between the ranks of jobs: one row per GPU slice, with what may tell which slices belong together. Inside counted
-- steps where there are any.
-- reads: _job_unit, collective, collective_slice, step
-- makes: _job_slice

create or replace temp table _job_slice as
with
counted as (
    select trace_id, min(ts) as begins, max(ts_end) as ends
    from step
    where excluded is null
    group by trace_id
)

select
    u.job, u.time_window, u.unit, s.trace_id, s.slice_id,
    if(s.op in ('send', 'recv'), 'send_recv', s.op) as op,
    s.op = 'send' as is_send,
    s.bytes, s.group_name, s.group_size,
    c.args ->> 'Process Group Ranks' as group_ranks,
    c.args ->> 'Comms Id' as comms_id,
    coalesce(regexp_full_match(s.group_name, '\d{9,}|0x[0-9a-f]+'), false) as is_address,
    c.sequence,
    st.name as step_name,
    s.step,
    coalesce(s.stream, 0) as stream,
    g.ts, g.ts_end, s.dur,
    coalesce(s.blocking, s.exposed) as blocking,
    s.exposed,
    t.utc_origin_ns as origin
from _job_unit as u
inner join trace as t using (trace_id)
inner join collective_slice as s on s.trace_id = u.trace_id and s.device = u.device
inner join gpu_slice as g on g.trace_id = s.trace_id and g.slice_id = s.slice_id
left join collective as c on c.trace_id = s.trace_id and c.slice_id = s.slice_id
left join step as st on st.trace_id = s.trace_id and st.step = s.step
left join counted as w on w.trace_id = s.trace_id
where
    coalesce(s.group_size, 2) > 1
    and s.dur > 0
    and coalesce(g.ts >= w.begins and g.ts < w.ends, true);
