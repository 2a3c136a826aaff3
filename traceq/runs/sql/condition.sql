-- What was sampled of clocks, power, temperature and throttling of a device or the machine: means over the counted steps.
select c.name || coalesce(' [' || c.unit || ']', '') as series, avg(c.value) as mean
from counter as c
inner join step as s on s.trace_id = c.trace_id and c.ts >= s.ts and c.ts < s.ts_end
where
    c.trace_id = $trace_id
    and s.excluded is null
    and (c.device = $device or c.device is null)
    and regexp_matches(c.name, 'clock|power|temperature|throttl', 'i')
group by all
order by all
