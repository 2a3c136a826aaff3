-- The training thread's own time taken apart by the slices that it was in, over all counted steps and over those of the typical
-- step, where no GPU works; columns as in item.sql. Within a fetch, a checkpoint or a compilation the time is that of the whole.
-- Numbers that annotations have from step to step are left out of their names.
-- uses: host_time
with
typical as (
    select
        step,
        row_number() over (order by dur, step) > steps // 4
        and row_number() over (order by dur, step) <= steps - steps // 4 as is_typical,
        steps
    from (
        select step, dur, count(*) over () as steps
        from step
        where trace_id = $trace_id and excluded is null
    )
),

item_step as (
    select
        'host_' || h.category as category,
        coalesce(regexp_replace(coalesce(c.name, h.name), '#\d+$', '#'), 'nothing open on the host') as name,
        h.step,
        count(distinct h.context_slice_id) as count,
        sum(h.dur) as dur,
        any_value(t.is_typical) as is_typical
    from host_time as h
    inner join typical as t using (step)
    left join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = h.context_slice_id
    group by all
),

-- What an item is without in other steps is 0 there.
item as (
    select
        category,
        name,
        sum(count) as count,
        sum(dur) as dur,
        coalesce(sum(count) filter (is_typical), 0) as typical_count,
        coalesce(sum(dur) filter (is_typical), 0) as typical_dur,
        sum(dur::double ** 2) as squares,
        coalesce(sum(dur::double ** 2) filter (is_typical), 0) as typical_squares
    from item_step
    group by all
),

steps as (
    select count(*) as counted, count(*) filter (is_typical) as typical
    from typical
),

ranked as (
    select *, row_number() over (order by dur desc, category, name) <= $most as is_kept
    from item
)

select
    category,
    if(is_kept, name, null) as name,
    null as shape,
    null as family,
    null as phase,
    null as operator,
    null as kind,
    sum(count)::bigint as count,
    sum(dur)::bigint as dur,
    0 as bytes,
    sum(typical_count)::bigint as typical_count,
    sum(typical_dur)::bigint as typical_dur,
    0 as typical_bytes,
    sum(sqrt(greatest(squares - dur::double ** 2 / counted, 0) / nullif(counted - 1, 0))) as deviation,
    sum(sqrt(greatest(typical_squares - typical_dur::double ** 2 / typical, 0) / nullif(typical - 1, 0)))
        as typical_deviation
from ranked
cross join steps
group by all
order by dur desc, category, name
