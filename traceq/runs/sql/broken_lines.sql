-- Lines at which graphs break, the most frequent first; those at which PyTorch gave up on the whole function before all others.
-- rest_ns: what compiling the rest of the function after the line took.
with
rest as (
    select trace_id, log_id, file, line, sum(dur)::bigint as dur
    from compilation
    where function like 'torch_dynamo_resume_in_%'
    group by all
)

select
    b.file, b.line, _short_place(b.file, b.line) as place,
    min(b.function) as function,
    min(b.code) as code,
    b.kind,
    min(b.reason) as reason,
    min(b.hint) as hint,
    count(*) as breaks,
    (
        select sum(r.dur)::bigint
        from rest as r
        where r.trace_id = any_value(b.trace_id) and r.file = b.file and r.line = b.line
    ) as rest_ns,
    bool_or(b.skips_function) as skips_function,
    bool_and(b.is_logged) as is_logged
from graph_break as b
where b.trace_id = $trace_id
group by b.file, b.line, b.kind
order by skips_function desc, breaks desc, b.file, b.line, b.kind
