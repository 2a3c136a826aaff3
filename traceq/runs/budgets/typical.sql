-- The typical step of a trace: the mean of the counted steps without the shortest and the longest quarter.
select round(avg(dur))::bigint as typical, count(*) as steps
from (
    select dur, row_number() over (order by dur, step) as place, count(*) over () as counted
    from step
    where trace_id = $trace_id and excluded is null
) as ranked
where place > counted // 4 and place <= counted - counted // 4
