-- What ran on all devices but the critical one; as diagnosis/shared/busy.sql.
select *
from busy_piece
where trace_id = $trace_id and device not in ($device, -1)
