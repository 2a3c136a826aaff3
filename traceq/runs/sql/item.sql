-- The ledger of a device taken apart: what ran, or what the host was doing while nothing ran, over all counted steps and
-- over those of the typical step (runs/run.py: the shortest and the longest quarter left out). Per category the times add
-- up to the ledger, but for what no slice stands for. Time counts in the step in which it elapsed, of a slice that lasts
-- into the next step by the share of its length; as one the slice counts in the step that launched it. The $most largest;
-- all others of a category are one row without a name.
with
window_ as (
    select
        s.step,
        s.ts,
        s.ts_end,
        s.excluded is null as is_counted,
        t.place > t.steps // 4 and t.place <= t.steps - t.steps // 4 as is_typical
    from step as s
    left join (
        select step, row_number() over (order by dur, step) as place, count(*) over () as steps
        from step
        where trace_id = $trace_id and excluded is null
    ) as t using (step)
    where s.trace_id = $trace_id
),

busy as (
    select
        b.category,
        b.slice_id,
        b.launch_id,
        b.ts,
        b.dur,
        b.ledger_dur::bigint as ledger_dur,
        coalesce(l.is_counted, false) as is_counted,
        coalesce(l.is_typical, false) as is_typical,
        coalesce(w.is_counted, false) as first_counted,
        coalesce(w.is_typical, false) as first_typical,
        w.step as first_step,
        z.step as last_step,
        w.step is distinct from z.step as is_cut
    from busy_piece as b
    left join window_ as l on l.step = b.step
    asof left join window_ as w on b.ts >= w.ts
    asof left join window_ as z on b.ts + b.dur > z.ts
    where b.trace_id = $trace_id and b.device = $device
),

-- A slice that lasts into other steps has in each the share of its time that lies in it; rounded so that they add up.
cut as (
    select
        b.slice_id,
        sum(b.part_dur) filter (w.is_counted) as dur,
        sum(b.part_dur) filter (w.is_typical) as typical_dur
    from (
        select
            b.slice_id,
            w.step,
            round(b.ledger_dur * ((least(b.ts + b.dur, w.ts_end) - b.ts) / b.dur))::bigint
            - round(b.ledger_dur * ((greatest(b.ts, w.ts) - b.ts) / b.dur))::bigint as part_dur
        from (
            select *, unnest(range(coalesce(first_step, 0), last_step + 1)) as in_step
            from busy
            where is_cut and last_step is not null
        ) as b
        inner join window_ as w on w.step = b.in_step
    ) as b
    inner join window_ as w using (step)
    group by b.slice_id
),

summed as (
    select
        b.category,
        b.slice_id,
        b.launch_id,
        b.is_counted::integer as count,
        b.is_typical::integer as typical_count,
        case when b.is_cut then coalesce(c.dur, 0) when b.first_counted then b.ledger_dur else 0 end as dur,
        case when b.is_cut then coalesce(c.typical_dur, 0) when b.first_typical then b.ledger_dur else 0 end as typical_dur
    from busy as b
    left join cut as c using (slice_id)
),

busy_item as (
    select
        p.category,
        case p.category
            when 'compute' then g.name
            when 'communication' then coalesce(c.op, g.name)
            when 'memset' then 'memset'
            else g.copy_kind
        end as name,
        case
            when p.category = 'compute' and g.grid_x is not null
                then format('{}x{}x{} of {}x{}x{}', g.grid_x, g.grid_y, g.grid_z, g.block_x, g.block_y, g.block_z)
            when p.category = 'communication' then c.bytes || ' B' || coalesce(' in a group of ' || c.group_size, '')
            when p.category <> 'compute' then g.bytes || ' B' || if(o.is_pageable, ' pageable', '')
        end as shape,
        k.family,
        q.phase,
        operator.name as operator,
        sum(p.count) as count,
        sum(p.dur) as dur,
        sum(p.count * coalesce(g.bytes, 0)) as bytes,
        sum(p.typical_count) as typical_count,
        sum(p.typical_dur) as typical_dur,
        sum(p.typical_count * coalesce(g.bytes, 0)) as typical_bytes
    from summed as p
    inner join gpu_slice as g on g.trace_id = $trace_id and g.slice_id = p.slice_id
    left join kernel_occupancy as k on k.trace_id = $trace_id and k.slice_id = p.slice_id
    left join collective_slice as c on c.trace_id = $trace_id and c.slice_id = p.slice_id
    left join copy_overlap as o on o.trace_id = $trace_id and o.slice_id = p.slice_id
    left join launch_state as q on q.trace_id = $trace_id and q.slice_id = p.slice_id
    left join cpu_slice as call on call.trace_id = $trace_id and call.slice_id = p.launch_id
    left join cpu_slice as operator on operator.trace_id = $trace_id and operator.slice_id = call.operator_id
    group by all
),

idle_item as (
    select
        c.cause as category,
        coalesce(h.name, 'nothing open on the host') as name,
        null as shape,
        null as family,
        q.phase,
        g.operator,
        count(*) as count,
        sum(c.dur) as dur,
        0 as bytes,
        count(*) filter (w.is_typical) as typical_count,
        coalesce(sum(c.dur) filter (w.is_typical), 0) as typical_dur,
        0 as typical_bytes
    from idle_gap_cause as c
    inner join idle_gap as g using (trace_id, gap_id)
    inner join window_ as w on w.step = g.step
    left join cpu_slice as h on h.trace_id = $trace_id and h.slice_id = c.cpu_slice_id
    left join launch_state as q on q.trace_id = $trace_id and q.slice_id = g.next_slice_id
    where c.trace_id = $trace_id and g.device = $device and w.is_counted
    group by all
),

item as (
    from busy_item
    where count > 0 or dur > 0
    union all
    from idle_item
),

ranked as (
    select *, row_number() over (order by dur desc, category, name, shape, family, phase, operator) <= $most as is_kept
    from item
)

select
    category,
    if(is_kept, name, null) as name,
    if(is_kept, shape, null) as shape,
    if(is_kept, family, null) as family,
    if(is_kept, phase, null) as phase,
    if(is_kept, operator, null) as operator,
    sum(count)::bigint as count,
    sum(dur)::bigint as dur,
    coalesce(sum(bytes), 0)::bigint as bytes,
    coalesce(sum(typical_count), 0)::bigint as typical_count,
    coalesce(sum(typical_dur), 0)::bigint as typical_dur,
    coalesce(sum(typical_bytes), 0)::bigint as typical_bytes
from ranked
group by all
order by dur desc, category, name, shape, family, phase, operator
