-- Of slow products, convolutions and attention: by kind, the one with most to win first, its share of the claim and the piece with most;
-- and of all kinds what their own shapes allow.
select
    x.kind,
    sum(r.claimed) / sum(sum(r.claimed)) over () as share,
    sum(
        sum(
            r.claimed
            * coalesce(greatest(x.gpu_dur - greatest(x.reachable_dur, x.filled_dur), 0) / nullif(x.gpu_dur - x.filled_dur, 0), 1)
        )
    ) over () as in_shape,
    arg_max(coalesce(g.name, o.name), r.claimed) as operator,
    arg_max(coalesce(g.args, o.args) ->> 'Input Dims', r.claimed) as sizes,
    arg_max(x.compute_type, r.claimed) as compute_type,
    arg_max(x.achieved, r.claimed) as achieved,
    arg_max(x.peak, r.claimed) as peak
from rule_instances as r
inner join costed_kernel as k on k.slice_id = r.busy_id
inner join operator_cost as x on x.trace_id = $trace_id and x.slice_id = k.operator_id
left join cpu_slice as o on o.trace_id = $trace_id and o.slice_id = k.operator_id
left join graph_operator as g on g.trace_id = $trace_id and g.slice_id = k.operator_id
group by x.kind
order by share desc, x.kind
