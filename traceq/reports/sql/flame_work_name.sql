-- What GPU work of the counted steps is shown as, once for each name and kind, with the number `label`.
create or replace temp table flame_work_name as
select own_name, own_kind, copy_kind, is_communication, dense_rank() over (order by kind, name) - 1 as label, kind, name
from (
    select
        name as own_name,
        kind as own_kind,
        coalesce(copy_kind, '') as copy_kind,
        is_communication,
        left(name, 200) as name,
        case
            when is_communication then 'communication'
            when kind = 'kernel' then 'compute'
            when kind <> 'memcpy' then kind
            when copy_kind in ('h2d', 'd2h') then 'copy_' || copy_kind
            else 'copy_other'
        end as kind
    from (
        select distinct name, kind, copy_kind, is_communication
        from gpu_slice
        where trace_id = $trace_id and step in (select step from step where trace_id = $trace_id and excluded is null)
    )
)
