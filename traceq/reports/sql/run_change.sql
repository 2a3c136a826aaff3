-- Where the steps of the whole run changed: for good, for a while or steadily; in the order in which they were done.
select
    c.log_id, c.quantity, c.kind, c.attempt, c.step, c.step_low, c.step_high, c.at_ns + coalesce(l.shift, 0) as at_ns, c.until_attempt,
    c.until_step, c.until_low, c.until_high, c.until_at_ns + coalesce(l.shift, 0) as until_at_ns, c.before, c.after, c.unit, c.ratio,
    c.ratio_low, c.ratio_high, l.shift is null as is_local
from run_change as c
inner join run_log as l using (trace_id, log_id)
where c.trace_id = $trace_id
order by c.quantity = 'memory', c.quantity = 'throughput', c.log_id, c.attempt, c.step
