-- What the copies of a rule's claim move per counted step, by direction. Idle time that it claims has no direction.
select
    i.direction,
    count(*) / s.steps as copies,
    sum(i.bytes) / s.steps as bytes,
    sum(i.dur) / s.steps as ns,
    sum(i.bytes) filter (i.dur > 0) / nullif(sum(i.dur) filter (i.bytes is not null), 0) as bandwidth
from rule_instances as i
inner join step_stats as s on s.trace_id = $trace_id
where i.direction is not null
group by i.direction, s.steps
order by ns desc, i.direction
