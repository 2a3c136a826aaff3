-- How far the replay of the counted steps is from what was recorded, as a share of it, and whether it came close enough to be used.
select max(error) as replay_error, count(saved) > 0 as is_replayed
from replay
where trace_id = $trace_id
