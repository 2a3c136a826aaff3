-- Lists of layers of the model, and what lies outside of them, by device: sums over the counted steps. Share: of the time of all
-- compute kernels of the device. Times of a layer are its sums, so that layers of a list can be compared.
with
named as (
    select *, forward_dur + backward_dur as dur, coalesce(list, name) as part
    from layer
    where trace_id = $trace_id
)

select
    device,
    part as name,
    any_value(source) as source,
    any_value(layers) as layers,
    max(calls)::bigint as calls,
    sum(dur)::bigint as dur_ns,
    sum(backward_dur)::bigint as backward_ns,
    round(sum(dur) / nullif(sum(sum(dur)) over (partition by device), 0), 9) as kernel_share,
    if(any_value(layers) is null, null, min(dur)::bigint) as least_ns,
    if(any_value(layers) is null, null, median(dur)::bigint) as median_ns,
    if(any_value(layers) is null, null, max(dur)::bigint) as most_ns,
    if(any_value(layers) is null, null, max_by(name, dur)) as slowest
from named
group by device, part
order by device, min(place)
