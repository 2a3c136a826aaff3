-- Idle time of all devices but the critical one; as diagnosis/shared/idle.sql.
select *
from idle_piece
where trace_id = $trace_id and device not in ($device, -1)
