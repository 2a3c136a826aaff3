-- Before PyTorch 2.2 kernels carry no description of their collective. With shapes recorded, the annotation around the launch
-- has those of what went in, the operator c10d::... around it those of both sides, and record_param_comms the process group.
-- reads: _communication_call, collective, communication_name
-- makes: collective

create temp table _element_size as
from (values
    ('double', 8), ('long', 8), ('long int', 8), ('c10::complex<float>', 8), ('unsigned long', 8),
    ('float', 4), ('int', 4), ('unsigned int', 4),
    ('c10::Half', 2), ('c10::BFloat16', 2), ('short', 2), ('short int', 2), ('unsigned short', 2),
    ('signed char', 1), ('unsigned char', 1), ('char', 1), ('bool', 1),
    ('c10::Float8_e4m3fn', 1), ('c10::Float8_e5m2', 1), ('c10::Float8_e4m3fnuz', 1), ('c10::Float8_e5m2fnuz', 1)
) as t (dtype, element_size);

-- Annotations that name a collective, with their shapes; a scalar has no dimensions and one element.
create temp table _shaped as
with
described as (
    select
        c.slice_id, c.name, c.operator_id, n.op,
        try_cast(json_extract(c.args, '$."Input Dims"') as bigint[][]) as dims,
        list_distinct(try_cast(json_extract(c.args, '$."Input type"') as varchar[])) as dtypes
    from cpu_slice as c
    inner join communication_name as n on n.kind = 'range' and n.name = c.name
    where
        c.kind = 'annotation'
        and n.op <> 'unknown'
        and regexp_matches(c.name, '^[a-z]+:')
        and if(json_valid(c.args), json_exists(c.args, '$."Input Dims"'), false)
)

select
    slice_id, name, operator_id, op,
    if(len(dtypes) = 1, dtypes[1], null) as dtype,
    try_cast(
        list_sum(list_transform(dims, lambda d: if(len(d) = 0, 1, list_aggregate(d, 'product')))) as bigint
    ) as elements
from described
where len(dims) > 0;

-- The operators around them, up to two.
create temp table _shaped_operator as
with
nearest as (
    select slice_id, name, operator_id, if(json_valid(args), args, null) as args
    from cpu_slice
    where slice_id in (select operator_id from _shaped)
),

around as (
    select slice_id, name, if(json_valid(args), args, null) as args
    from cpu_slice
    where slice_id in (select operator_id from nearest)
),

described as (
    select
        n.slice_id,
        if(n.name = 'record_param_comms', try_cast(json_extract(n.args, '$."Concrete Inputs"') as varchar[]), null) as inputs,
        if(n.name = 'record_param_comms', try_cast(json_extract(n.args, '$."Input type"') as varchar[]), null) as types,
        try_cast(json_extract(if(n.name = 'record_param_comms', a.args, n.args), '$."Input Dims"') as bigint[][]) as dims,
        starts_with(if(n.name = 'record_param_comms', a.name, n.name), 'c10d::') as is_c10d
    from nearest as n
    left join around as a on a.slice_id = n.operator_id
),

-- tensors, sequence number, process group, rank, name, splits of input and output, size of the group: PyTorch 2.1 and 2.2
grouped as (
    select *, len(inputs) = 8 and types[2:4] = ['Scalar', 'Scalar', 'Scalar'] and types[8] = 'Scalar' as has_group
    from described
)

select
    slice_id,
    if(has_group, try_cast(inputs[2] as bigint), null) as sequence,
    if(has_group, inputs[3], null) as group_name,
    if(has_group, try_cast(inputs[8] as integer), null) as group_size,
    -- c10d::_allgather_base_(output, input, ...) and its like; lists of tensors and what is no tensor have no flat dimensions
    if(is_c10d and len(dims[1]) > 0 and len(dims[2]) > 0, try_cast(list_aggregate(dims[1], 'product') as bigint), null) as out_elements,
    if(is_c10d and len(dims[1]) > 0 and len(dims[2]) > 0, try_cast(list_aggregate(dims[2], 'product') as bigint), null) as in_elements
from grouped;

create temp table _shaped_collective as
with
carrier as (
    select
        annotation_id,
        count(*) as slices,
        any_value(slice_id) as slice_id,
        bool_or(slice_id in (select slice_id from collective)) as is_described
    from _communication_call
    group by annotation_id
)

select
    -- the shapes of an operation that took several kernels are those of none of them
    if(c.slices = 1, c.slice_id, s.slice_id) as slice_id,
    s.name as op,
    s.dtype,
    coalesce(o.in_elements, s.elements) as in_elements,
    coalesce(o.out_elements, if(s.op in ('all_reduce', 'broadcast'), s.elements, null)) as out_elements,
    o.group_name, o.group_size, o.sequence,
    -- what goes into a gather is one rank's part of the message; of a scatter the larger side is at its root
    case
        when s.op in ('all_gather', 'gather') then coalesce(o.out_elements, s.elements * o.group_size)
        when s.op = 'scatter' then coalesce(o.in_elements, o.out_elements * o.group_size)
        else greatest(s.elements, o.in_elements, o.out_elements)
    end as elements
from _shaped as s
left join _shaped_operator as o on o.slice_id = s.operator_id
left join carrier as c on c.annotation_id = s.slice_id
where
    not coalesce(c.is_described, false)
    and s.slice_id not in (select slice_id from collective)
    and coalesce(s.operator_id not in (select slice_id from collective), true);

insert into collective by name
select
    $trace_id as trace_id,
    c.* exclude (elements),
    try_cast(c.elements::hugeint * e.element_size as bigint) as bytes
from _shaped_collective as c
left join _element_size as e using (dtype)
order by c.slice_id;
