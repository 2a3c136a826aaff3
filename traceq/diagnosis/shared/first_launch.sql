-- The first launch of a capture, if it takes less than a millisecond: the profiler starts in it. One that loads code takes longer.
-- threshold: first_ns = 1000000: CUPTI takes some half a millisecond to start in the first launch that it records
select slice_id
from cpu_slice
where trace_id = $trace_id and kind = 'runtime' and regexp_matches(name, 'Launch(Cooperative)?Kernel')
qualify row_number() over (order by ts, slice_id) = 1 and dur < $first_ns
