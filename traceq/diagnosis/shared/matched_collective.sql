-- Collectives that several ranks took part in, and which of them needed least: it came last. Traces count as of one job when run and
-- size of the world agree and every rank is there once.
-- uses: job_trace
with
described as (
    select
        j.trace_id, j.rank, s.slice_id, s.dur,
        -- an address tells groups of one rank apart and matches nothing on another, unless all ranks are in the group
        if(regexp_full_match(c.group_name, '\d{9,}|0x[0-9a-f]+'), 'world', c.group_name)
        || coalesce(c.args ->> 'Process Group Ranks', '') as members,
        c.op,
        coalesce(c.bytes, -1) as message,
        coalesce(c.group_size, -1) as size,
        c.sequence,
        j.origin + g.ts as began
    from job_trace as j
    inner join collective as c on c.trace_id = j.trace_id
    inner join collective_slice as s on s.trace_id = j.trace_id and s.slice_id = c.slice_id
    inner join gpu_slice as g on g.trace_id = j.trace_id and g.slice_id = c.slice_id
    where
        c.sequence is not null
        and c.group_name is not null
        and (not regexp_full_match(c.group_name, '\d{9,}|0x[0-9a-f]+') or c.group_size = j.world_size)
    qualify count(*) over (partition by j.trace_id, members, c.op, message, size, c.sequence) = 1
)

select
    *,
    min(dur) over same as shortest,
    arg_min(rank, (dur, rank)) over same as late_rank,
    arg_min(trace_id, (dur, rank)) over same as late_trace,
    count(*) over same as ranks,
    max(began) over same - min(began) over same as apart
from described
window same as (partition by members, op, message, size, sequence)
