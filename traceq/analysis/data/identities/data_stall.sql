-- What training waits for input is the host's ledger, what the GPU idles for it is the GPU's, and no more is hidden than waited.
with
host as (
    select step, sum(dur) as dur
    from host_ledger
    where trace_id = $trace_id and category = 'data'
    group by step
),

idle as (
    select device, step, dur
    from time_ledger
    where trace_id = $trace_id and category = 'idle_data'
)

select
    step,
    -- where nothing names fetching it is not known, and the ledger has none
    coalesce(d.data_wait, 0) <> coalesce(h.dur, 0)
    or coalesce(d.idle_data <> coalesce(i.dur, 0), false)
    or coalesce(d.data_stall <> d.idle_data + coalesce(d.input_copy, 0), false)
    or coalesce(d.hidden not between 0 and d.data_wait, false)
    or d.trace_id is null
    or s.step is null as is_broken,
    'step ' || step as place
from (select step from step where trace_id = $trace_id) as s
full join (from data_stall where trace_id = $trace_id) as d using (step)
left join host as h using (step)
left join idle as i on i.device = d.device and i.step = d.step
