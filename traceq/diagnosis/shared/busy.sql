-- What ran on the critical device, and the time for which each slice alone accounts.
select *
from busy_piece
where trace_id = $trace_id and device = $device
