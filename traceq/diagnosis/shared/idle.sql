-- Idle time of the critical device by gap and cause.
select *
from idle_piece
where trace_id = $trace_id and device = $device
