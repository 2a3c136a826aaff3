-- The time of the counted steps: those that follow one another are one period.
select min(ts) as ts, max(ts_end) as ts_end
from (
    select *, sum(is_first) over (order by ts) as number
    from (
        select ts, ts_end, (ts is distinct from lag(ts_end) over (order by ts))::integer as is_first
        from step
        where trace_id = $trace_id and excluded is null
    )
)
group by number
order by ts
