-- How many slices may be drawn: outside of detailed steps and in them.
select count(*) filter (not is_fine) as coarse, count(*) filter (is_fine) as fine
from timeline_slice
