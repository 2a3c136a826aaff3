-- Every collective is on one axis, or on none that can be told: the sums by axis are those by process group.
with
by_axis as (
    select device, sum(collectives) as collectives, sum(dur) as dur, sum(exposed) as exposed
    from axis_time
    where trace_id = $trace_id
    group by device
),

by_group as (
    select device, sum(collectives) as collectives, sum(dur) as dur, sum(exposed) as exposed
    from (
        select device, group_name, count(*) as collectives, sum(dur) as dur, sum(exposed) as exposed
        from collective_slice
        where trace_id = $trace_id
        group by device, group_name
    )
    group by device
)

select
    device,
    a.collectives is distinct from g.collectives or a.dur is distinct from g.dur or a.exposed is distinct from g.exposed as is_broken,
    'device ' || device as place
from by_axis as a
full join by_group as g using (device)
