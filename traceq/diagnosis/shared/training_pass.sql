-- GPU slices of counted steps launched forward, backward or by the optimizer, in the order of their launches, with the number of the
--   micro-batch: how often the program has turned from forward to backward until then.
-- uses: counted
with
launched as (
    select g.step, q.phase, c.ts, g.slice_id
    from gpu_slice as g
    inner join counted using (step)
    inner join launch_state as q on q.trace_id = g.trace_id and q.slice_id = g.slice_id
    inner join cpu_slice as c on c.trace_id = g.trace_id and c.slice_id = g.launch_id
    where g.trace_id = $trace_id and g.device = $device and q.phase in ('forward', 'backward', 'optimizer')
),

turn as (
    select *, lag(phase) over (order by ts, slice_id) as before
    from launched
)

select
    step, slice_id, phase, before,
    phase = 'backward' and before = 'forward' as is_turn,
    count(if(phase = 'backward' and before = 'forward', 1, null)) over (order by ts, slice_id) as micro_batch
from turn
