-- Names recur: what calls are shown as is worked out once for each, and has the number `label`.
create or replace temp table flame_name as
select own_kind, own_name, dense_rank() over (order by kind, name) - 1 as label, kind, name
from (
    select
        kind as own_kind,
        name as own_name,
        if(regexp_matches(name, '^(nn\.Module: |traceq\.module#)'), 'module', kind) as kind,
        -- The marks of all steps are one, and so are objects that differ by their address.
        left(
            if(
                name in (select name from step where trace_id = $trace_id and excluded is null),
                regexp_replace(name, '\d+$', ''),
                regexp_replace(name, '^nn\.Module: |^traceq\.module#| at 0x[0-9a-f]+', '', 'g')
            ),
            200
        ) as name
    from (select distinct kind, name from cpu_slice where trace_id = $trace_id and depth is not null and dur > 0)
)
