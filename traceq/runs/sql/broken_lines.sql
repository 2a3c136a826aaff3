-- Lines at which graphs break, the most frequent first; those at which PyTorch gave up on the whole function before all others.
-- rest_ns: what compiling the rest of the function after the line took.
with
rest as (
    -- of one line, whatever broke it
    select b.file, b.line, sum(r.dur)::bigint as dur
    from (
        -- all versions of a function break there, and have one rest
        select distinct g.log_id, g.file, g.line, g.frame_line, c.file as frame_file
        from graph_break as g
        inner join compilation as c using (trace_id, log_id, compile_id)
        where g.trace_id = $trace_id
    ) as b
    inner join (
        select log_id, file, function, dur
        from _compiled
        where trace_id = $trace_id
    ) as r
        on r.log_id = b.log_id
        and r.file = b.frame_file
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
