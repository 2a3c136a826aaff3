-- NCCL's own ranges describe what was asked for on the host (importers/nsys/payload.py); a row of collective belongs to the GPU
-- slice that carried it out. Inside ncclGroupStart ... ncclGroupEnd nothing is launched before the outermost group ends, and one
-- kernel may carry out all of it.
-- reads: collective
-- makes: _communication_call, collective

create temp table _communication_call as
select g.slice_id, c.name as call, c.ts_end as call_end, c.operator_id, c.annotation_id
from gpu_slice as g
inner join cpu_slice as c on c.slice_id = g.launch_id
where g.is_communication;

create temp table _collective_issued as
with
asked as (
    select c.slice_id, s.thread_id, s.ts, 0 as change
    from collective as c
    inner join cpu_slice as s using (slice_id)
    where regexp_matches(s.name, '^nccl[A-Z]')
),

boundary as (
    select slice_id, thread_id, ts, if(name = 'ncclGroupStart', 1, -1) as change
    from cpu_slice
    where name in ('ncclGroupStart', 'ncclGroupEnd') and exists (select 1 from asked)
),

summed as (
    select *, sum(change) over (partition by thread_id order by ts, slice_id rows unbounded preceding) as level
    from (select * from asked union all select * from boundary)
),

-- A capture may begin inside a group: its end is then one too many.
levelled as (
    select * replace (level - least(min(level) over (partition by thread_id order by ts, slice_id rows unbounded preceding), 0) as level)
    from summed
),

issued as (
    select
        slice_id,
        change,
        if(
            level = 0,
            slice_id,
            first_value(if(level = 0 and change = -1, slice_id, null) ignore nulls)
                over (partition by thread_id order by ts, slice_id rows between current row and unbounded following)
        ) as issued_in
    from levelled
),

carrier as (
    select annotation_id as issued_in, any_value(slice_id) as gpu_slice_id
    from _communication_call
    group by annotation_id
    having count(*) = 1
)

select i.slice_id, c.gpu_slice_id
from issued as i
inner join carrier as c using (issued_in)
where i.change = 0 and c.gpu_slice_id not in (select slice_id from collective);

create temp table _collective_carried as
select
    i.gpu_slice_id as slice_id,
    count(*) as parts,
    count(distinct c.op) as ops,
    bool_and(c.op in ('ncclSend', 'ncclRecv')) as is_transfer,
    any_value(c.op) as op,
    if(count(c.bytes) = count(*), sum(c.bytes), null) as bytes,
    sum(c.bytes) filter (c.op = 'ncclSend') as sent,
    sum(c.bytes) filter (c.op = 'ncclRecv') as received,
    if(count(distinct c.group_name) = 1, any_value(c.group_name), null) as group_name,
    if(count(distinct c.group_name) = 1, any_value(c.group_size), null) as group_size,
    if(count(distinct c.group_name) = 1, any_value(c.group_rank), null) as group_rank,
    if(count(distinct c.reduction) = 1, any_value(c.reduction), null) as reduction,
    if(count(distinct c.group_name) = 1, min(c.sequence), null) as sequence,
    any_value(c.args) as args,
    count(try_cast(c.args ->> 'peer_rank' as integer)) = count(*) as has_peers,
    list(distinct try_cast(c.args ->> 'peer_rank' as integer)) filter (c.op = 'ncclSend') as sends_to,
    list(distinct try_cast(c.args ->> 'peer_rank' as integer)) filter (c.op = 'ncclRecv') as receives_from
from _collective_issued as i
inner join collective as c using (slice_id)
group by i.gpu_slice_id;

delete from collective where slice_id in (select slice_id from _collective_issued);

insert into collective by name
select
    $trace_id as trace_id,
    slice_id,
    case when ops = 1 then op when is_transfer then 'ncclSendRecv' else 'ncclGroup' end as op,
    -- sends and receives go on at once: the larger side is the message
    case when ops = 1 then bytes when is_transfer and bytes is not null then greatest(sent, received) end::bigint as bytes,
    group_name, group_size, group_rank, reduction, sequence,
    case
        when parts = 1 then args
        -- places in one communicator
        when is_transfer and group_name is not null and has_peers and sends_to is not null and receives_from is not null
            then json_object('parts', parts, 'sends_to', list_sort(sends_to), 'receives_from', list_sort(receives_from))::varchar
        else json_object('parts', parts)::varchar
    end as args
from _collective_carried
order by slice_id;
