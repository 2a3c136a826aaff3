-- What is done in a fetch adds up to it.
with
judged as (
    select
        slice_id,
        waiting + reading + transform + python + calls + unexplained <> dur
        or least(waiting, reading, transform, python, calls, unexplained) < 0
        or coalesce(stalled not between 0 and dur, false) as is_broken
    from data_fetch
    where trace_id = $trace_id
)

select
    count(*) as checked,
    count(*) filter (is_broken) as broken,
    'cpu_slice ' || min(slice_id) filter (is_broken) as example
from judged
