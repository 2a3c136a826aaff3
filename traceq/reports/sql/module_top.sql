-- Modules with most kernel time of their own in the counted steps, without the modules inside them.
select
    device,
    module,
    calls,
    (forward_dur + backward_dur)::bigint as dur_ns,
    own_dur::bigint as own_ns,
    mfu as mfu_share,
    memory_growth as growth_bytes
from module
where trace_id = $trace_id and own_dur > 0
order by own_dur desc, device, module
limit $top
