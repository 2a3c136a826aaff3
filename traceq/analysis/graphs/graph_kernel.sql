-- graph_operator, graph_kernel and graph_launch: what _graph_match and _graph_launch found, with what the capture tells.
-- reads: _capture_kernel, _capture_operator, _graph_launch, _graph_match
-- makes: graph_kernel, graph_launch, graph_operator

-- Operators around calls, those around them too.
create temp table _capture_around as
with recursive
around as (
    select distinct operator_id as origin, operator_id as slice_id
    from _capture_kernel
    where operator_id is not null
    union
    select a.origin, o.operator_id
    from around as a
    inner join _capture_operator as o on o.slice_id = a.slice_id
    where o.operator_id is not null
)

from around;

-- One a launch, however many kernels it launched.
create temp table _graph_operator as
with
first_id as (
    select coalesce(max(slice_id), -1) + 1 as slice_id
    from (select max(slice_id) as slice_id from cpu_slice union all select max(slice_id) from gpu_slice)
),

used as (
    select distinct g.launch_id, a.slice_id as captured_id
    from _graph_match as m
    inner join gpu_slice as g using (slice_id)
    inner join _capture_kernel as k using (number)
    inner join _capture_around as a on a.origin = k.operator_id
    where m.has_operator
)

select
    u.*,
    l.ts,
    f.slice_id + row_number() over (order by l.ts, u.launch_id, u.captured_id) - 1 as slice_id
from used as u
inner join cpu_slice as l on l.slice_id = u.launch_id
cross join first_id as f;

insert into graph_operator by name
select
    $trace_id as trace_id,
    o.slice_id, o.launch_id, c.name, o.ts,
    p.slice_id as operator_id,
    c.args
from _graph_operator as o
inner join _capture_operator as c on c.slice_id = o.captured_id
left join _graph_operator as p on p.launch_id = o.launch_id and p.captured_id = c.operator_id
order by o.slice_id;

insert into graph_kernel by name
select
    $trace_id as trace_id,
    g.slice_id, g.launch_id, m.place, m.matched_by,
    o.slice_id as operator_id,
    o.name as operator,
    try(json_extract_string(o.args, '$."Input Dims"')) as shapes,
    try(json_extract_string(o.args, '$."Input type"')) as types,
    if(m.has_module, k.module, null) as module,
    if(m.has_line, k.line, null) as line
from _graph_launch as l
inner join gpu_slice as g using (launch_id)
left join _graph_match as m using (slice_id)
left join _capture_kernel as k using (number)
left join _graph_operator as i on m.has_operator and i.launch_id = g.launch_id and i.captured_id = k.operator_id
left join graph_operator as o on o.slice_id = i.slice_id
where g.kind = 'kernel'
order by g.slice_id;

insert into graph_launch by name
select
    $trace_id as trace_id,
    l.launch_id,
    any_value(g.step) as step,
    count(*) as kernels,
    sum(g.dur)::bigint as dur,
    count(k.place) as matched_kernels,
    coalesce(sum(g.dur) filter (k.place is not null), 0)::bigint as matched_dur,
    any_value(columns(l.* exclude (launch_id)))
from _graph_launch as l
inner join gpu_slice as g using (launch_id)
inner join graph_kernel as k using (slice_id)
group by l.launch_id
order by l.launch_id;
