-- Time in which the device has nothing to do because a call held the host until it had none: the end of that call, and what the host had
-- to catch up on after it. `kind` tells calls apart: item (a value is read), shape (a size is), explicit (asked for as such).
-- uses: held_host
select
    step, ts, dur, name, call_id as slice_id, claimed, cause, gap_id, 'idle_sync' as scenario,
    operator, annotation, phase, waited as waited_ns
from held_host
where meant = $kind
