-- The allocator's totals at each [memory] instant of _work, as two series per device.
with
known as (
    select
        ts,
        from_json(
            args, '{"Device Type":"BIGINT","Device Id":"INTEGER","Total Allocated":"BIGINT","Total Reserved":"BIGINT"}'
        ) as a
    from _work
),

series as (
    select
        ts,
        if(a."Device Type" <> 0, a."Device Id", null) as device,
        unnest(['memory_allocated', 'memory_reserved']) as name,
        unnest([a."Total Allocated", a."Total Reserved"]) as value
    from known
)

select device, name, 'bytes' as unit, ts, value::double as value
from series
where value is not null
