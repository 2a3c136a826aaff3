-- Compile time by part: the parts of each compilation lie within one another and add up to its duration.
with
whole as (
    select
        dur,
        least(coalesce(backend_ns, 0), dur) as backend,
        least(coalesce(inductor_ns, 0), coalesce(backend_ns, 0), dur) as inductor,
        least(coalesce(code_gen_ns, 0), coalesce(inductor_ns, 0), coalesce(backend_ns, 0), dur) as code
    from compilation
    where trace_id = $trace_id and dur is not null
)

select unnest([
    {'part': 'tracing', 'dur': sum(dur - backend)::bigint},
    {'part': 'autograd', 'dur': sum(backend - inductor)::bigint},
    {'part': 'inductor', 'dur': sum(inductor - code)::bigint},
    {'part': 'code', 'dur': sum(code)::bigint}
], recursive := true)
from whole
having count(*) > 0
