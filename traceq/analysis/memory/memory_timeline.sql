-- memory_timeline: the samples that importers deliver as counters, the two totals of one PyTorch event in one row. Profilers before
-- PyTorch 1.10 tell changes only: those are summed up here.
-- reads: step
-- makes: import_note, memory_timeline

insert into memory_timeline by name
with
series as (
    from (values
        ('memory_allocated', 'device'),
        ('memory_reserved', 'device'),
        ('memory_allocated_pinned', 'pinned'),
        ('memory_allocated_pageable', 'pageable'),
        ('memory_allocated_managed', 'managed')
    ) as t (name, memory)
),

-- importers deliver both totals of an event one after the other
sample as (
    select
        c.rowid as number,
        c.device,
        if(c.device is null, 'host', s.memory) as memory,
        c.name = 'memory_reserved' as is_reserved,
        c.ts,
        try_cast(c.value as bigint) as value
    from counter as c
    inner join series as s using (name)
    where c.unit = 'bytes' and try_cast(c.value as bigint) is not null
),

total as (
    select
        coalesce(a.number, r.number) as number,
        coalesce(a.device, r.device) as device,
        coalesce(a.memory, r.memory) as memory,
        coalesce(a.ts, r.ts) as ts,
        a.value as allocated,
        r.value as reserved
    from (from sample where not is_reserved) as a
    full join (from sample where is_reserved) as r
        on r.number = a.number + 1 and r.ts = a.ts and r.device is not distinct from a.device
),

-- Who knows what an allocator reserves knows all that it allocated, not only what it allocated since the capture began.
has_totals as (
    select count(*) filter (is_reserved) > 0 from sample
),

change as (
    select
        slice_id as number,
        if(
            try_cast(args ->> '$."Device Type"' as integer) <> 0,
            coalesce(try_cast(args ->> '$."Device Id"' as integer), -1),
            null
        ) as device,
        ts,
        try_cast(args ->> '$.Bytes' as bigint) as bytes
    from cpu_slice
    where
        kind = 'other'
        and name = '[memory]'
        and not exists (from sample)
        and try_cast(args ->> '$.Bytes' as bigint) between -1125899906842624 and 1125899906842624
),

summed as (
    select
        number,
        device,
        if(device is null, 'host', 'device') as memory,
        ts,
        sum(bytes) over (partition by device order by ts, number rows unbounded preceding) as allocated
    from change
    -- more than a petabyte no machine has
    qualify abs(allocated) <= 1125899906842624
),

-- what is released and was never allocated was there before
relative as (
    select
        number, device, memory, ts,
        (allocated - least(min(allocated) over (partition by device, memory), 0))::bigint as allocated
    from (
        from summed
        union all
        select number, device, memory, ts, allocated from total where not (from has_totals)
    )
),

every as (
    select number, device, memory, ts, allocated, null as reserved, false as is_total from relative
    union all
    -- the host's allocator keeps nothing and reports 0
    select number, device, memory, ts, allocated, if(memory = 'host', null, reserved), true
    from total
    where (from has_totals)
)

select
    $trace_id as trace_id,
    e.* exclude (number),
    case when e.ts < s.ts_end then s.step end as step
from every as e
asof left join step as s on e.ts >= s.ts
order by e.device nulls last, e.memory, e.ts, e.number;

insert into import_note
select $trace_id, 'data_loss', 'number_out_of_range', count(*), 'memory changes of more than a petabyte were left out'
from cpu_slice
where
    kind = 'other'
    and name = '[memory]'
    and not exists (from memory_timeline where is_total)
    and abs(try_cast(args ->> '$.Bytes' as hugeint)) > 1125899906842624
having count(*) > 0;
