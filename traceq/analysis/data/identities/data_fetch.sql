-- What is done in a fetch adds up to it.
select
    slice_id,
    waiting + reading + transform + python + calls + unexplained <> dur
    or least(waiting, reading, transform, python, calls, unexplained) < 0
    or coalesce(stalled not between 0 and dur, false) as is_broken,
    'cpu_slice ' || slice_id as place
from data_fetch
where trace_id = $trace_id
