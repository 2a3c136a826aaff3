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
        b.category, b.slice_id, b.launch_id, b.name, b.step as launch_step, b.ts, b.ts + b.dur as ts_end, b.dur, b.ledger_dur,
        w.step, w.ts_end as window_end
    from busy_piece as b
    asof left join window_ as w on b.ts >= w.ts
    where b.trace_id = $trace_id and b.device = $device
),

-- What begins in one step and ends in a later one is two parts.
cut as (
    select
        *,
        if(ts_end > window_end, round(ledger_dur * (greatest(window_end - ts, 0) / dur)), ledger_dur)::bigint as first_dur
    from busy
),

part as (
    select * exclude (step), step, 0 as begins, first_dur as part_dur
    from cut
    where step is not null
    union all
    select c.* exclude (step), w.step, 0, c.ledger_dur::bigint - c.first_dur
    from (from cut where ts_end > window_end) as c
    asof left join window_ as w on c.ts_end > w.ts
    where w.step > c.step
    union all
    select * exclude (step), launch_step, 1, 0
    from cut
),

busy_item as (
    select
        p.category,
        case p.category
            when 'compute' then p.name
            when 'communication' then coalesce(c.op, p.name)
            when 'memset' then 'memset'
            else o.copy_kind
        end as name,
        case
            when p.category = 'compute' and g.grid_x is not null
                then
                    format('{}x{}x{}', g.grid_x, g.grid_y, g.grid_z)
                    || format(' of {}x{}x{}', g.block_x, g.block_y, g.block_z)
            when p.category = 'communication' then c.bytes || ' B' || coalesce(' in a group of ' || c.group_size, '')
            when p.category <> 'compute' then g.bytes || ' B' || if(o.is_pageable, ' pageable', '')
        end as shape,
        k.family,
        q.phase,
        operator.name as operator,
        g.bytes,
        p.step,
        p.begins,
        p.part_dur as dur
    from part as p
    inner join gpu_slice as g on g.trace_id = $trace_id and g.slice_id = p.slice_id
    left join kernel_occupancy as k on k.trace_id = $trace_id and k.slice_id = p.slice_id
    left join collective_slice as c on c.trace_id = $trace_id and c.slice_id = p.slice_id
    left join copy_overlap as o on o.trace_id = $trace_id and o.slice_id = p.slice_id
    left join launch_state as q on q.trace_id = $trace_id and q.slice_id = p.slice_id
    left join cpu_slice as call on call.trace_id = $trace_id and call.slice_id = p.launch_id
    left join cpu_slice as operator on operator.trace_id = $trace_id and operator.slice_id = call.operator_id
),

idle_item as (
    select
        c.cause as category,
        coalesce(h.name, 'nothing open on the host') as name,
        null as shape,
        null as family,
        q.phase,
        g.operator,
        null as bytes,
        g.step,
        1 as begins,
        c.dur
    from idle_gap_cause as c
    inner join idle_gap as g using (trace_id, gap_id)
    left join cpu_slice as h on h.trace_id = $trace_id and h.slice_id = c.cpu_slice_id
    left join launch_state as q on q.trace_id = $trace_id and q.slice_id = g.next_slice_id
    where c.trace_id = $trace_id and g.device = $device
),

item as (
    select
        category,
        name,
        shape,
        family,
        phase,
        operator,
        sum(i.begins) as count,
        sum(i.dur) as dur,
        sum(i.bytes) filter (i.begins = 1) as bytes,
        sum(i.begins) filter (w.is_typical) as typical_count,
        sum(i.dur) filter (w.is_typical) as typical_dur,
        sum(i.bytes) filter (i.begins = 1 and w.is_typical) as typical_bytes
    from (from busy_item union all from idle_item) as i
    inner join window_ as w using (step)
    where w.is_counted
    group by category, name, shape, family, phase, operator
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
