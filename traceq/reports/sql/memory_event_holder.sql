-- What is allocated on each device when most is in the counted steps, of what PyTorch allocated during the capture: by the operator
-- that asked for it, the module around it and the line of the program. It is there if the last event at its address is its allocation.
with
span as (
    select min(ts) as ts, max(ts_end) as ts_end from step where trace_id = $trace_id and excluded is null
),

told as (
    select
        slice_id, ts, operator_id, module_id, line_id,
        json_extract_string(args, ['$."Device Type"', '$."Device Id"', '$.Addr', '$.Bytes', '$."Total Allocated"']) as said
    from cpu_slice
    where trace_id = $trace_id and kind = 'other' and name = '[memory]'
),

event as (
    select
        slice_id, ts, operator_id, module_id, line_id,
        try_cast(said[2] as integer) as device,
        said[3] as address,
        try_cast(said[4] as bigint) as bytes,
        try_cast(said[5] as bigint) as allocated
    from told
    where said[1] <> '0' and said[3] is not null
),

counted as (
    select e.device, e.ts, e.slice_id, e.allocated from event as e inner join span as s on e.ts >= s.ts and e.ts < s.ts_end
),

peak as (
    select c.device, min({'ts': c.ts, 'slice_id': c.slice_id}) as at
    from counted as c
    inner join (select device, max(allocated) as allocated from counted group by device) as h using (device, allocated)
    group by c.device
),

latest as (
    select e.device, e.address, max({'ts': e.ts, 'slice_id': e.slice_id}) as at
    from event as e
    inner join peak as p on p.device = e.device and (e.ts < p.at.ts or e.ts = p.at.ts and e.slice_id <= p.at.slice_id)
    group by e.device, e.address
),

held as (
    select
        e.device,
        o.name as operator,
        regexp_replace(m.name, '^nn\.Module: ', '') as module,
        n.name as line,
        count(*) as allocations,
        sum(e.bytes)::bigint as bytes,
        max(e.bytes) as largest_bytes
    from latest as l
    inner join event as e on e.device = l.device and e.address = l.address and e.slice_id = l.at.slice_id
    left join cpu_slice as o on o.trace_id = $trace_id and o.slice_id = e.operator_id
    left join cpu_slice as m on m.trace_id = $trace_id and m.slice_id = e.module_id
    left join cpu_slice as n on n.trace_id = $trace_id and n.slice_id = e.line_id
    where e.bytes > 0
    group by e.device, o.name, m.name, n.name
)

select device, operator, module, line, allocations, bytes, largest_bytes, sum(bytes) over (partition by device)::bigint as all_bytes
from held
qualify row_number() over (partition by device order by bytes desc, operator, module, line) <= $top
order by device, bytes desc, operator, module, line
