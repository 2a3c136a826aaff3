-- How many steps are counted, how many are left out before the first of these, and the name of a range that marks the middle one alone.
with
own as (select * from step where trace_id = $trace_id),

counted as (select * from own where excluded is null)

select
    (select count(*) from counted) as steps,
    (select count(*) from own where excluded is not null and ts < (select min(ts) from counted)) as skipped,
    (
        select name
        from counted
        where name in (select name from own group by name having count(*) = 1)
        order by abs(row_number() over (order by ts) * 2 - (select count(*) from counted)), ts
        limit 1
    ) as range_name,
    (select format from trace where trace_id = $trace_id) as format
