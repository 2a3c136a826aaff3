-- The ledger of a device taken apart: what ran, or what the host was doing while nothing ran, over all counted steps and
-- over those of the typical step (runs/run.py: the shortest and the longest quarter left out). Steps of a server are taken
-- apart by kind. Per category the times add up to the ledger, but for what no slice stands for. Time counts in the step in which
-- it elapsed, of a slice that lasts into the next step by the share of its length; as one the slice counts in the step that
-- launched it. The $most largest; all others of a category are one row without a name. The deviation is the standard deviation
-- of an item's time from step to step, that of the others the sum of theirs (no less than that of their sum).
with
window_ as (
    select
        s.step,
        row_number() over (order by s.ts) as number,
        s.ts,
        s.ts_end,
        t.kind,
        s.excluded is null as is_counted,
        t.place > t.steps // 4 and t.place <= t.steps - t.steps // 4 as is_typical
    from step as s
    left join (
        select
            s.step,
            k.kind,
            row_number() over (partition by k.kind order by s.dur, s.step) as place,
            count(*) over (partition by k.kind) as steps
        from step as s
        left join serving_kind as k using (trace_id, step)
        where s.trace_id = $trace_id and s.excluded is null
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
        l.kind as launch_kind,
        w.kind,
        coalesce(l.is_counted, false) as is_counted,
        coalesce(l.is_typical, false) as is_typical,
        coalesce(w.is_counted, false) as first_counted,
        coalesce(w.is_typical, false) as first_typical,
        w.step as first_step,
        w.number as first_number,
        z.number as last_number,
        w.step is distinct from z.step as is_cut
    from busy_piece as b
    left join window_ as l on l.step = b.step
    asof left join window_ as w on b.ts >= w.ts
    asof left join window_ as z on b.ts + b.dur > z.ts
    where b.trace_id = $trace_id and b.device = $device
),

-- A slice that lasts into other steps has in each the share of its time that lies in it; rounded so that they add up.
cut as (
    select b.slice_id, b.category, b.launch_id, b.part_dur, w.step, w.kind, w.is_counted, w.is_typical
    from (
        select
            b.slice_id,
            b.category,
            b.launch_id,
            w.step,
            round(b.ledger_dur * ((least(b.ts + b.dur, w.ts_end) - b.ts) / b.dur))::bigint
            - round(b.ledger_dur * ((greatest(b.ts, w.ts) - b.ts) / b.dur))::bigint as part_dur
        from (
            select *, unnest(range(coalesce(first_number, 1), last_number + 1)) as in_number
            from busy
            where is_cut and last_number is not null
        ) as b
        inner join window_ as w on w.number = b.in_number
    ) as b
    inner join window_ as w using (step)
),

part as (
    select
        category,
        slice_id,
        launch_id,
        kind,
        first_step as step,
        if(launch_kind is distinct from kind, 0, is_counted::integer) as count,
        if(launch_kind is distinct from kind, 0, is_typical::integer) as typical_count,
        if(first_counted and not is_cut, ledger_dur, 0) as dur,
        if(first_typical and not is_cut, ledger_dur, 0) as typical_dur
    from busy
    union all
    -- launched in a step of another kind than it ran in
    select
        category,
        slice_id,
        launch_id,
        launch_kind as kind,
        null as step,
        is_counted::integer as count,
        is_typical::integer as typical_count,
        0 as dur,
        0 as typical_dur
    from busy
    where launch_kind is distinct from kind and is_counted
    union all
    select
        category,
        slice_id,
        launch_id,
        kind,
        step,
        0 as count,
        0 as typical_count,
        if(is_counted, part_dur, 0) as dur,
        if(is_typical, part_dur, 0) as typical_dur
    from cut
    where is_counted or is_typical
),

busy_step as (
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
        p.kind,
        p.step,
        sum(p.count) as count,
        sum(p.dur) as dur,
        sum(p.count * coalesce(g.bytes, 0)) as bytes,
        sum(p.typical_count) as typical_count,
        sum(p.typical_dur) as typical_dur,
        sum(p.typical_count * coalesce(g.bytes, 0)) as typical_bytes
    from part as p
    inner join gpu_slice as g on g.trace_id = $trace_id and g.slice_id = p.slice_id
    left join kernel_occupancy as k on k.trace_id = $trace_id and k.slice_id = p.slice_id
    left join collective_slice as c on c.trace_id = $trace_id and c.slice_id = p.slice_id
    left join copy_overlap as o on o.trace_id = $trace_id and o.slice_id = p.slice_id
    left join launch_state as q on q.trace_id = $trace_id and q.slice_id = p.slice_id
    left join cpu_slice as call on call.trace_id = $trace_id and call.slice_id = p.launch_id
    left join cpu_slice as operator on operator.trace_id = $trace_id and operator.slice_id = call.operator_id
    group by all
),

idle_step as (
    select
        c.cause as category,
        coalesce(h.name, 'nothing open on the host') as name,
        null as shape,
        null as family,
        q.phase,
        g.operator,
        w.kind,
        g.step,
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

-- What an item is without in other steps is 0 there.
item as (
    select
        category,
        name,
        shape,
        family,
        phase,
        operator,
        kind,
        sum(count) as count,
        sum(dur) as dur,
        sum(bytes) as bytes,
        sum(typical_count) as typical_count,
        sum(typical_dur) as typical_dur,
        sum(typical_bytes) as typical_bytes,
        sum(dur::double ** 2) as squares,
        sum(typical_dur::double ** 2) as typical_squares
    from (from busy_step union all from idle_step)
    group by all
    having sum(count) > 0 or sum(dur) > 0
),

steps as (
    select kind, count(*) as counted, count(*) filter (is_typical) as typical
    from window_
    where is_counted
    group by kind
),

ranked as (
    select *, row_number() over (order by dur desc, category, name, shape, family, phase, operator, kind) <= $most as is_kept
    from item
)

select
    category,
    if(is_kept, name, null) as name,
    if(is_kept, shape, null) as shape,
    if(is_kept, family, null) as family,
    if(is_kept, phase, null) as phase,
    if(is_kept, operator, null) as operator,
    ranked.kind,
    sum(count)::bigint as count,
    sum(dur)::bigint as dur,
    coalesce(sum(bytes), 0)::bigint as bytes,
    coalesce(sum(typical_count), 0)::bigint as typical_count,
    coalesce(sum(typical_dur), 0)::bigint as typical_dur,
    coalesce(sum(typical_bytes), 0)::bigint as typical_bytes,
    sum(sqrt(greatest(squares - dur::double ** 2 / counted, 0) / nullif(counted - 1, 0))) as deviation,
    sum(sqrt(greatest(typical_squares - typical_dur::double ** 2 / typical, 0) / nullif(typical - 1, 0)))
        as typical_deviation
from ranked
left join steps as s on s.kind is not distinct from ranked.kind
group by all
order by dur desc, category, name, shape, family, phase, operator, ranked.kind
