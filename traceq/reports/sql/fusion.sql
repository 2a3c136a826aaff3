-- Sequences of memory-bound kernels that repeat, those first in which most time is, over all devices.
select
    sequence,
    any_value(operators)::integer as operators,
    sum(times)::bigint as times,
    sum(kernels)::bigint as kernels,
    sum(dur)::bigint as dur_ns,
    if(count(least_bytes) = count(*), sum(least_bytes), null)::bigint as least_bytes,
    if(count(most_bytes) = count(*), sum(most_bytes), null)::bigint as most_bytes,
    if(count(least_dur) = count(*), sum(least_dur), null)::bigint as least_ns,
    if(count(most_dur) = count(*), sum(most_dur), null)::bigint as most_ns
from fusion_candidate
where trace_id = $trace_id
group by sequence
order by dur_ns desc, sequence
limit $top
