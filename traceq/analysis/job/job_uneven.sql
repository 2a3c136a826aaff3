-- The collectives of one window that ranks do not leave together, by their place among all of the window. Sends with receives are even:
-- each side waits for the other.
-- reads: collective_match
select match_id, op, coalesce(root_unit, -1) as root
from collective_match
where job = $job and time_window = $time_window and op in $ops
order by match_id
