-- Idle time while a call holds the host for a copy, and after that until the host has launched again what it could have launched
--   meanwhile: not for longer than it was held.
-- uses: copy_call, wait_piece
with
held as (
    select distinct slice_id, name
    from copy_call
)

select p.step, p.ts, p.dur, h.name, h.slice_id, p.claimed, p.cause, p.gap_id
from wait_piece as p
inner join held as h on h.slice_id = p.call_id
