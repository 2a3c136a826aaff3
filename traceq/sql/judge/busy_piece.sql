-- The view's rows of one device, which nearly every rule asks for. Names are few and long: each is held once.
select * replace (name::kernel_names as name)
from busy_piece
where trace_id = $trace_id and device = $device
