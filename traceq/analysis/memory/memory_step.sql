-- memory_step: what the samples of each step say; between samples nothing changes.
-- reads: memory_timeline, step
-- makes: memory_step

insert into memory_step by name
with
sampled as (
    select
        device,
        memory,
        -- what comes before the first step is where it starts; what comes after the last one is nobody's
        coalesce(step, if(ts < (select min(ts) from step), -1, null)) as step,
        count(*) as samples,
        arg_max(allocated, number) as allocated,
        arg_max(reserved, number) as reserved,
        max(allocated) as peak,
        arg_max(reserved, {'allocated': allocated, 'first': -number}) filter (reserved is not null) as peak_reserved,
        max(reserved) as most_reserved,
        bool_and(is_total) as is_total
    from (select *, rowid as number from memory_timeline where allocated is not null)
    group by all
),

known as (
    select
        s.step, m.device, m.memory, m.is_total,
        coalesce(x.samples, 0) as samples,
        last_value(x.allocated ignore nulls) over before as allocated_start,
        last_value(x.reserved ignore nulls) over before as reserved_start,
        last_value(x.allocated ignore nulls) over (series rows unbounded preceding) as allocated_end,
        x.peak, x.peak_reserved, x.most_reserved
    from (select step from step union all select -1) as s
    cross join (select device, memory, bool_and(is_total) as is_total from sampled group by all) as m
    left join sampled as x on x.step = s.step and x.device is not distinct from m.device and x.memory = m.memory
    window
        series as (partition by m.device, m.memory order by s.step),
        before as (series rows between unbounded preceding and 1 preceding)
),

peak as (
    select
        *,
        coalesce(allocated_start > peak, true) and allocated_start is not null as is_at_start,
        if(is_at_start, reserved_start - allocated_start, peak_reserved - peak) as unused
    from known
    where step >= 0 and allocated_end is not null
)

select
    $trace_id as trace_id,
    p.* exclude (peak, peak_reserved, reserved_start, most_reserved, is_at_start, unused),
    p.allocated_end - p.allocated_start as growth,
    if(p.is_at_start, p.allocated_start, p.peak) as peak,
    if(p.is_at_start, p.reserved_start, p.peak_reserved) as peak_reserved,
    -- of a damaged trace more can be in tensors than was reserved
    if(p.unused >= 0, p.unused, null) as peak_unused,
    case when p.reserved_start is null or p.most_reserved is null then coalesce(p.reserved_start, p.most_reserved) else greatest(p.reserved_start, p.most_reserved) end as reserved,
    case when p.memory = 'device' then d.memory_bytes end as capacity
from peak as p
left join device as d on d.device = p.device
order by p.step, p.device nulls last, p.memory;
