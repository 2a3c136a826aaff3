-- One window of time, $ts_from <= ts < $ts_until, in the order of the nesting sweep: an enclosing slice before what it encloses. Old traces have whole microseconds, where a
-- caller and its callee can have equal times: then annotations go around Python frames, frames around operators, operators
-- around calls, and the smaller number that was given at the start (external id, Python id, correlation id) around the larger.
-- reads: _frame_name
select
    c.* exclude (is_async),
    ts + dur as ts_end,
    -- bits of stack.py: numbers, because the sweep compares them for every slice
    case kind when 'op' then 1 when 'annotation' then 2 else 0 end
    + case when h.context is not null then 4 else 0 end
    + case when h.phase is not null then 8 else 0 end
    + coalesce(f.bits, 0) as nesting_kind
from staging.cpu_slice as c
left join host_name as h using (kind, name)
left join _frame_name as f on c.kind = 'python' and f.name = c.name
where not coalesce(is_async, false) and ts >= $ts_from and ts < $ts_until
order by
    thread_id,
    ts,
    dur desc,
    case kind when 'annotation' then 0 when 'python' then 1 when 'op' then 2 when 'runtime' then 3 else 4 end,
    coalesce(
        external_id,
        if(kind = 'python' and ts % 1000 = 0 and dur % 1000 = 0, try_cast(regexp_extract(args, '"Python id": ?(\d+)', 1) as bigint), null),
        correlation_id,
        slice_id
    ),
    slice_id;
