-- Where the time of each counted step went on a device.
select l.step, s.dur as step_dur, l.category, l.dur
from time_ledger as l
inner join step as s using (trace_id, step)
where trace_id = $trace_id and l.device = $device and s.excluded is null and l.dur > 0
order by l.step, l.category
