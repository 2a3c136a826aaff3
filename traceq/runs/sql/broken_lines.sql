-- Lines at which graphs break, the most frequent first; those at which PyTorch gave up on the whole function before all others.
-- rest_ns: what compiling the rest of the function after the line took.
with
rest as (
    -- of one line, whatever broke it
    select b.file, b.line, sum(r.dur)::bigint as dur
    from (select distinct log_id, compile_id, file, line, frame_line from graph_break where trace_id = $trace_id) as b
    inner join compilation as c on c.trace_id = $trace_id and c.log_id = b.log_id and c.compile_id = b.compile_id
    inner join (
        select distinct log_id, file, function, dur, compile_id
        from compilation
        where trace_id = $trace_id
    ) as r
        on r.log_id = b.log_id
        and r.file = c.file
        and r.function like 'torch_dynamo_resume_in_%' || '_at_' || b.frame_line
    group by b.file, b.line
)

select
    b.file, b.line, _short_place(b.file, b.line) as place,
    min(b.function) as function,
    min(b.code) as code,
    b.kind,
    min(b.reason) as reason,
    min(b.hint) as hint,
    count(*) as breaks,
    any_value(r.dur) as rest_ns,
    bool_or(b.skips_function) as skips_function,
    bool_and(b.is_logged) as is_logged
from graph_break as b
left join rest as r on r.file = b.file and r.line = b.line
where b.trace_id = $trace_id
group by b.file, b.line, b.kind
order by skips_function desc, breaks desc, b.file, b.line, b.kind
