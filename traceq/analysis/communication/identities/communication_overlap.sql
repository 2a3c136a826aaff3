-- Communication is overlapped or exposed; what is exposed and what computes is the ledger's, for each device and step.
with
ledger as (
    select
        device,
        step,
        sum(dur) filter (category = 'communication') as communication,
        sum(dur) filter (category = 'compute') as compute
    from time_ledger
    where trace_id = $trace_id
    group by device, step
)

select
    step,
    device,
    o.communication is distinct from o.overlapped + o.exposed
    or o.exposed is distinct from coalesce(l.communication, 0)
    or o.compute is distinct from coalesce(l.compute, 0)
    or coalesce(o.overlapped not between 0 and o.compute, true) as is_broken,
    'device ' || device || ', step ' || step as place
from (from communication_overlap where trace_id = $trace_id) as o
full join ledger as l using (device, step)
