-- What is allocated on each device when most is in the counted steps, of what PyTorch allocated during the capture: by the
-- operator that asked for it, the module around it and the line of the program.
with
span as (
    select min(ts) as ts, max(ts_end) as ts_end from step where trace_id = $trace_id and excluded is null
),

told as (
    select
        slice_id, ts, operator_id, module_id, line_id,
        json_extract_string(args, ['$."Device Type"', '$."Device Id"', '$.Addr', '$.Bytes']) as said
    from cpu_slice
    where trace_id = $trace_id and kind = 'other' and name = '[memory]'
),

event as (
    select
        row_number() over (order by ts, slice_id) as number,
        ts, operator_id, module_id, line_id,
        try_cast(said[2] as integer) as device,
        said[3] as address,
        try_cast(said[4] as bigint) as bytes
    from told
    where try_cast(said[1] as integer) <> 0 and said[3] is not null
),

lived as (
    select
        e.*,
        lead(e.number) over (partition by e.device, e.address order by e.number) as next_number,
        sum(e.bytes) over (partition by e.device order by e.number) as allocated
    from event as e
    where e.bytes is not null and e.device is not null
),

peak as (
    select l.device, arg_max(l.number, {'allocated': l.allocated, 'first': -l.number}) as number
    from lived as l
    cross join span as s
    where l.ts >= s.ts and l.ts < s.ts_end
    group by l.device
),

held as (
    select
        l.device,
        o.name as operator,
        regexp_replace(m.name, '^nn\.Module: ', '') as module,
        n.name as line,
        count(*) as allocations,
        sum(l.bytes)::bigint as bytes,
        max(l.bytes) as largest_bytes
    from lived as l
    inner join peak as p using (device)
    left join cpu_slice as o on o.trace_id = $trace_id and o.slice_id = l.operator_id
    left join cpu_slice as m on m.trace_id = $trace_id and m.slice_id = l.module_id
    left join cpu_slice as n on n.trace_id = $trace_id and n.slice_id = l.line_id
    where l.bytes > 0 and l.number <= p.number and coalesce(l.next_number > p.number, true)
    group by l.device, o.name, m.name, n.name
)

select device, operator, module, line, allocations, bytes, largest_bytes, sum(bytes) over (partition by device)::bigint as all_bytes
from held
qualify row_number() over (partition by device order by bytes desc, operator, module, line) <= $top
order by device, bytes desc, operator, module, line
