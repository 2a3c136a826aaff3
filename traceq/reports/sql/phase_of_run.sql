-- The whole capture, from its first slice to its last: what comes before the steps (or the window), what is judged, what comes after.
select phase, ts, dur, if(share between 0 and 1, share, null) as share, gpu_busy, text
from phase_of_run
where trace_id = $trace_id
order by ts
