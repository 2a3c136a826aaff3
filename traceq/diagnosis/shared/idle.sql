-- The view's rows of one device, which nearly every rule asks for.
select *
from idle_piece
where trace_id = $trace_id and device = $device
