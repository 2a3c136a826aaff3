-- Nodes of the backward pass on the training thread, with the operator of the forward pass that added each (slice_id, of host_operator); number
-- is that of the node in host_operator.
-- Both have the same sequence number. An operator that adds no node has the number of the next one, so of several the last to begin
-- before the node is the one.
-- uses: host_operator
with
numbered as (
    select
        c.slice_id,
        c.name,
        starts_with(c.name, 'autograd::engine::evaluate_function') as is_node,
        c.ts,
        c.ts_end,
        try_cast(try(json_extract_string(c.args, '$."Sequence number"')) as bigint) as number
    from cpu_slice as c
    where
        c.trace_id = $trace_id
        and c.kind = 'op'
        and c.thread_id = (select min(thread_id) from host_ledger where trace_id = $trace_id)
        and contains(c.args, '"Sequence number"')
),

added as (
    select n.slice_id as node_id, n.name, n.ts, n.ts_end, o.ts as added_at
    from (from numbered where is_node) as n
    asof inner join (from numbered where not is_node) as o on o.number = n.number and n.ts > o.ts
)

select h.slice_id, a.name, a.ts, a.ts_end, n.number
from added as a
inner join host_operator as n on n.slice_id = a.node_id
asof inner join host_operator as h on a.added_at >= h.ts
where a.added_at < h.ts_end
