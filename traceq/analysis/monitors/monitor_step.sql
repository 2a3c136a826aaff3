-- monitor_step: each sample counts for a step as long as the time it stands for lies in it.
-- reads: step
-- makes: monitor_step

insert into monitor_step by name
with
sample as (
    from monitor_sample
    where ts_end > ts and not starts_with(name, 'process_') and not (starts_with(name, 'cpu_') and instance is not null)
)

select
    $trace_id as trace_id,
    s.step, m.device, m.instance, m.name,
    any_value(m.unit) as unit,
    count(*) as samples,
    sum(m.value * (least(m.ts_end, s.ts_end) - greatest(m.ts, s.ts)))
    / sum(least(m.ts_end, s.ts_end) - greatest(m.ts, s.ts)) as mean,
    min(m.value) as lowest,
    max(m.value) as highest
from sample as m
inner join step as s on m.ts < s.ts_end and m.ts_end > s.ts
where s.ts_end > s.ts
group by s.step, m.device, m.instance, m.name
order by s.step, m.device nulls last, m.instance nulls first, m.name;
