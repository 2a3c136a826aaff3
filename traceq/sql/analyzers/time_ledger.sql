-- A group by over the segments: they never cross a step and never overlap, so the parts add up to the step.

insert into time_ledger
select trace_id, device, step, category, sum(dur)::bigint as dur
from device_activity
where step is not null
group by all
order by device, step, category;
