-- Compile time by part: the parts of each compilation lie within one another and add up to its duration.
with
whole as (
    select
        dur - backward_ns as forward,
        backward_ns,
        least(coalesce(backend_ns, 0), forward) as backend,
        least(coalesce(inductor_ns, 0), coalesce(backend_ns, 0), forward) as inductor,
        least(coalesce(code_gen_ns, 0), coalesce(inductor_ns, 0), coalesce(backend_ns, 0), forward) as code
    from _compiled
    where trace_id = $trace_id and dur is not null
)

select unnest([
    {'part': 'tracing', 'dur': sum(forward - backend)::bigint},
    {'part': 'autograd', 'dur': sum(backend - inductor)::bigint},
    {'part': 'inductor', 'dur': sum(inductor - code)::bigint},
    {'part': 'code', 'dur': sum(code)::bigint},
    {'part': 'backward', 'dur': sum(backward_ns)::bigint}
], recursive := true)
from whole
having count(*) > 0
