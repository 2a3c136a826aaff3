-- Gaps of the critical device, with the call whose delay the host had not made up (idle_gap.late_after): a gap that the start of a step
-- cuts goes on.
select g.gap_id, g.ts, coalesce(g.late_after, e.late_after) as drained_by
from idle_gap as g
left join idle_gap as e
    on e.trace_id = g.trace_id and e.device = g.device and e.ts_end = g.ts and e.late_after is not null
where g.trace_id = $trace_id and g.device = $device
