-- Kinds and names of host slices. Slices are many and names few: these are searched, and then the slices that have them.
select distinct kind, name
from cpu_slice
where trace_id = $trace_id
