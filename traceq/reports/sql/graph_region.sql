-- Work in CUDA graphs by what the program called it, in the counted steps: --top names that are no module's, and what has no
-- annotation; communication apart. Share: of the time of all such slices.
select
    r.region,
    r.phase,
    count(*) as slices,
    sum(g.dur)::bigint as dur_ns,
    round(sum(g.dur) / nullif(sum(sum(g.dur)) over (), 0), 9) as gpu_share
from gpu_slice as g
inner join step as s using (trace_id, step)
left join graph_region as r using (trace_id, slice_id)
where trace_id = $trace_id and s.excluded is null and g.graph_node_id is not null and not g.is_communication
group by r.region, r.phase, r.module
qualify r.module is null
order by dur_ns desc, r.region, r.phase
limit $top
