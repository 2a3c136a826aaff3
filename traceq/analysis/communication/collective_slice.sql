-- One row per GPU slice of communication. What ran beside it comes from the cumulative compute time of its device, looked up at
-- its start, at its end and at the instant from which it held up compute: three look-ups however much runs meanwhile.
-- reads: _collective_wait, _communication_call, _tells_waits, collective, communication_name, device_activity
-- makes: _collective_around, collective_slice

create temp table _compute_until as
select
    device, ts, dur,
    sum(dur) over (partition by device order by ts rows unbounded preceding) - dur as before
from device_activity
where category = 'compute';

create temp table _collective_time as
with
slice as (
    select g.slice_id, g.device, g.ts, g.ts_end, least(greatest(g.ts, w.ready), g.ts_end) as held_from
    from gpu_slice as g
    inner join _collective_wait as w using (slice_id)
),

instant as (
    select slice_id, device, unnest([ts, ts_end, held_from]) as at, unnest(['start', 'end', 'held']) as which
    from slice
),

compute as (
    select i.slice_id, i.which, coalesce(c.before + least(i.at - c.ts, c.dur), 0) as until
    from instant as i
    asof left join _compute_until as c on c.device = i.device and i.at >= c.ts
),

per_slice as (
    select
        slice_id,
        max(until) filter (which = 'start') as at_start,
        max(until) filter (which = 'end') as at_end,
        max(until) filter (which = 'held') as at_held
    from compute
    group by slice_id
)

select
    s.slice_id,
    c.at_end - c.at_start as overlapped,
    s.ts_end - s.ts - (c.at_end - c.at_start) as exposed,
    s.ts_end - s.held_from - (c.at_end - c.at_held) as held_up
from slice as s
inner join per_slice as c using (slice_id);

-- What a name says of the operation; a kernel that sends and receives may carry out any of several.
create temp table _operation as
select
    name,
    max(library) as library,
    max(op) filter (op not in ('unknown', 'send_recv')) as op,
    max(op) filter (op <> 'unknown') as vague_op,
    max(algorithm) filter (kind = 'kernel') as algorithm
from communication_name
group by name;

-- The annotations and operators around each launch, the inner before the outer: what NCCL calls itself is the innermost.
create temp table _collective_around as
with
inner_range as (
    select slice_id, annotation_id, operator_id
    from cpu_slice
    where slice_id in (select annotation_id from _communication_call union select operator_id from _communication_call)
),

around as (
    select c.slice_id, 1 as place, c.annotation_id as range_id from _communication_call as c
    union all
    select c.slice_id, 2, a.annotation_id from _communication_call as c inner join inner_range as a on a.slice_id = c.annotation_id
    union all
    select c.slice_id, 3, c.operator_id from _communication_call as c
    union all
    select c.slice_id, 4, o.operator_id from _communication_call as c inner join inner_range as o on o.slice_id = c.operator_id
),

named as (
    select slice_id, name, operator_id from cpu_slice where slice_id in (select range_id from around)
)

select a.slice_id, a.place, n.name, n.operator_id
from around as a
inner join named as n on n.slice_id = a.range_id;

create temp table _collective_range as
select
    a.slice_id,
    min_by(o.op, a.place) filter (o.op is not null) as op,
    min_by(o.vague_op, a.place) filter (o.vague_op is not null) as vague_op,
    min_by(o.library, a.place) filter (o.library is not null) as library
from _collective_around as a
inner join _operation as o on o.name = a.name
group by a.slice_id;

-- Copies, and kernels of older profilers, do not say which collective they carry out; the operator with their external id does. How
-- many bytes each of several slices moves is not known.
create temp table _described_by_operator as
with
operator as (
    select c.external_id, any_value(m) as described
    from collective as m
    inner join cpu_slice as c using (slice_id)
    where c.external_id > 0
    group by c.external_id
    having count(*) = 1
)

select
    g.slice_id,
    o.described.op as op, o.described.group_name as group_name, o.described.group_size as group_size,
    if(count(*) over (partition by g.external_id) = 1, o.described.bytes, null) as bytes
from gpu_slice as g
inner join operator as o using (external_id)
where g.is_communication and g.slice_id not in (select slice_id from collective);

create temp table _named_collective as
select
    g.slice_id,
    coalesce(n.library, r.library) as library,
    coalesce(cn.op, r.op, n.op, cn.vague_op, r.vague_op, n.vague_op, 'unknown') as op,
    if(g.kind = 'memcpy', 'copy_engine', n.algorithm) as algorithm,
    coalesce(c.group_name, e.group_name) as group_name, coalesce(c.group_size, e.group_size) as group_size,
    coalesce(c.bytes, e.bytes) as bytes,
    g.graph_id is not null or coalesce(l.call like '%GraphLaunch%', false) as is_in_graph
from gpu_slice as g
left join _communication_call as l using (slice_id)
left join _collective_range as r using (slice_id)
left join collective as c using (slice_id)
left join _described_by_operator as e using (slice_id)
left join _operation as cn on cn.name = coalesce(c.op, e.op)
left join _operation as n on n.name = g.name
where g.is_communication;

insert into collective_slice by name
select
    $trace_id as trace_id,
    g.slice_id, g.device, g.stream, g.step,
    c.* exclude (slice_id, is_in_graph),
    -- the highest set bit, rounded down to an even place
    if(c.bytes > 0, 1::bigint << ((length(bin(c.bytes)) - 1) // 2 * 2), c.bytes) as size_class,
    g.dur,
    t.overlapped::bigint as overlapped,
    t.exposed::bigint as exposed,
    case
        when t.exposed = 0 then 0
        when c.is_in_graph or w.is_unknown or g.stream is null or not d.tells_waits then null
        when w.ready is null then 0
        else t.held_up
    end::bigint as blocking,
    c.bytes / nullif(g.dur, 0) as algorithm_bandwidth,
    c.bytes / nullif(g.dur, 0) * _bus_factor(c.op, c.group_size) as bus_bandwidth
from gpu_slice as g
inner join _named_collective as c using (slice_id)
inner join _collective_time as t using (slice_id)
inner join _collective_wait as w using (slice_id)
inner join _tells_waits as d on d.device = g.device
order by g.device, g.ts, g.slice_id;
