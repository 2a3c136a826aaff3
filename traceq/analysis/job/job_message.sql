-- Sends and receives whose peer is known: the ordinal on their ordered pair of ranks tells which belong together, as each rank counts
-- its calls by itself. A kernel that sends to a rank and receives from it stands for both.
-- reads: _job_slice, collective, collective_slice, job_rank
-- makes: _job_message, _job_slice

create or replace temp table _job_message_slice as
select j.*, s.op as direction
from (from _job_slice where op = 'send_recv') as j
inner join (select trace_id, slice_id, op from collective_slice where op in ('send', 'recv', 'send_recv')) as s
    using (trace_id, slice_id);

create or replace temp table _job_message_part as
with

-- The kernel does not carry all of what its operator says.
operator as (
    select p.trace_id, p.slice_id, any_value(c.args) as args
    from _job_message_slice as p
    inner join gpu_slice as g on g.trace_id = p.trace_id and g.slice_id = p.slice_id
    inner join cpu_slice as s on s.trace_id = g.trace_id and s.external_id = g.external_id
    inner join collective as c on c.trace_id = s.trace_id and c.slice_id = s.slice_id
    where g.external_id > 0
    group by p.trace_id, p.slice_id
    having count(*) = 1
),

-- Of sends and receives in one batch (batch_isend_irecv) only the operators are described, before the kernel of all is launched.
batch as (
    select p.trace_id, p.slice_id
    from _job_message_slice as p
    left join collective as c on c.trace_id = p.trace_id and c.slice_id = p.slice_id
    left join operator as o on o.trace_id = p.trace_id and o.slice_id = p.slice_id
    where p.direction = 'send_recv' and c.slice_id is null and o.slice_id is null
),

launch as (
    select g.trace_id, g.slice_id, l.thread_id, min(l.ts) as ts
    from gpu_slice as g
    inner join cpu_slice as l on l.trace_id = g.trace_id and l.slice_id = g.launch_id
    where g.is_communication and g.trace_id in (select trace_id from batch)
    group by g.trace_id, g.slice_id, l.thread_id
),

called as (
    select c.trace_id, c.op, c.args, s.thread_id, s.ts
    from collective as c
    inner join cpu_slice as s on s.trace_id = c.trace_id and s.slice_id = c.slice_id
    where c.op in ('send', 'recv') and c.trace_id in (select trace_id from batch)
),

said as (
    select p.trace_id, p.slice_id, p.direction, c.args, o.args as operator_args
    from _job_message_slice as p
    left join collective as c on c.trace_id = p.trace_id and c.slice_id = p.slice_id
    left join operator as o on o.trace_id = p.trace_id and o.slice_id = p.slice_id
    where p.direction in ('send', 'recv')
    union all
    select b.trace_id, b.slice_id, c.op, c.args, null
    from called as c
    asof inner join launch as l on l.trace_id = c.trace_id and l.thread_id = c.thread_id and l.ts >= c.ts
    inner join batch as b on b.trace_id = l.trace_id and b.slice_id = l.slice_id
),

-- By rank of the program.
of_program as (
    select
        trace_id, slice_id, direction,
        coalesce(
            try_cast(coalesce(args ->> if(direction = 'send', 'Dst Rank', 'Src Rank'), operator_args ->> if(direction = 'send', 'Dst Rank', 'Src Rank')) as integer),
            try_cast(regexp_extract_all(
                split_part(coalesce(args ->> 'Process Group Ranks', operator_args ->> 'Process Group Ranks'), '...', 1), '\d+'
            )[try_cast(coalesce(args ->> 'Rank', operator_args ->> 'Rank') as integer) + 1] as integer)
        ) as rank
    from said
),

-- By place in a communicator that all its ranks call the same.
of_communicator as (
    select
        p.trace_id, p.slice_id, c.group_name,
        if(p.direction = 'send_recv', unnest(['send', 'recv']), p.direction) as direction,
        unnest(
            if(
                p.direction = 'send_recv',
                [from_json(c.args -> 'sends_to', '["INTEGER"]'), from_json(c.args -> 'receives_from', '["INTEGER"]')],
                [[try_cast(c.args ->> 'peer_rank' as integer)]]
            )
        ) as places
    from _job_message_slice as p
    inner join collective as c on c.trace_id = p.trace_id and c.slice_id = p.slice_id
    where c.group_rank is not null
),

seat as (
    select j.job, j.time_window, c.group_name, c.group_rank, min(j.unit) as unit
    from _job_slice as j
    inner join collective as c using (trace_id, slice_id)
    where c.group_rank is not null and c.group_name in (select group_name from of_communicator)
    group by j.job, j.time_window, c.group_name, c.group_rank
    having min(j.unit) = max(j.unit)
),

peer as (
    select p.trace_id, p.slice_id, o.direction, r.unit
    from of_program as o
    inner join _job_message_slice as p using (trace_id, slice_id)
    inner join job_rank as r on r.job = p.job and r.time_window = p.time_window and r.rank = o.rank
    union all
    select p.trace_id, p.slice_id, o.direction, s.unit
    from (select * exclude (places), unnest(places) as place from of_communicator) as o
    inner join _job_message_slice as p using (trace_id, slice_id)
    inner join seat as s
        on s.job = p.job and s.time_window = p.time_window and s.group_name = o.group_name and s.group_rank = o.place
),

joined as (
    select
        trace_id, slice_id,
        any_value(unit) as peer,
        count(distinct direction) = 2 as is_fused,
        any_value(direction) as direction
    from peer
    group by trace_id, slice_id
    having count(distinct unit) = 1
)

select
    p.job, p.time_window, p.unit, p.trace_id, p.slice_id, p.step_name, p.ts,
    if(p.is_address, null, p.group_name || ' ' || coalesce(p.group_ranks, '') || ' ' || coalesce(p.group_size::varchar, '')) as group_id,
    o.is_fused,
    if(if(o.is_fused, p.unit < o.peer, o.direction = 'send'), p.unit, o.peer) as source,
    if(if(o.is_fused, p.unit < o.peer, o.direction = 'send'), o.peer, p.unit) as target
from _job_message_slice as p
inner join joined as o using (trace_id, slice_id)
where o.peer <> p.unit;

create or replace temp table _job_message as
with
numbered as (
    select
        *,
        row_number() over (partition by job, time_window, source, target, is_fused, unit order by ts, slice_id) as ordinal,
        row_number() over (partition by job, time_window, source, target, is_fused, step_name, unit order by ts, slice_id) as ordinal_in_step
    from _job_message_part
),

-- Ordinals hold where both sides have as many, in all or in the step.
counted as (
    select
        *,
        count(*) over whole = 2 * max(ordinal) over whole and count(distinct unit) over whole = 2 as is_even,
        count(*) over in_step = 2 * max(ordinal_in_step) over in_step and count(distinct unit) over in_step = 2 as is_even_in_step
    from numbered
    window
        whole as (partition by job, time_window, source, target, is_fused),
        in_step as (partition by job, time_window, source, target, is_fused, step_name)
),

placed as (
    select
        *,
        format('{} {} {} ', source, if(is_fused, 'and', 'to'), target)
        || if(is_even, ordinal::varchar, coalesce(step_name, '') || ' ' || ordinal_in_step::varchar) as place
    from counted
    where is_even or is_even_in_step
)

select
    trace_id, slice_id, place,
    coalesce(
        min(group_id) over (partition by job, time_window, place),
        format('ranks {} and {}', least(source, target), greatest(source, target))
    ) as identity
from placed;

-- Numbers that each side counts for itself tell nothing.
update _job_slice
set sequence = null
from _job_message as m
where _job_slice.trace_id = m.trace_id and _job_slice.slice_id = m.slice_id;

drop table _job_message_slice;
drop table _job_message_part;
