-- Lines at which graphs break, with what passes between the graphs around them in a counted step, the longest first.
select
    _short_place(b.file, b.line) as place,
    any_value(b.kind order by b.break_id) as kind,
    any_value(b.code order by b.break_id) as code,
    any_value(rtrim(b.reason, '.') order by b.break_id) as reason,
    p.passings,
    p.between_ns
from graph_break as b
inner join (
    select
        file, line,
        count(*) as passings,
        sum(dur) / (select count(*) from step where trace_id = $trace_id and excluded is null) as between_ns
    from graph_break_passing
    where trace_id = $trace_id
    group by file, line
) as p
    on p.file = b.file and p.line = b.line
where b.trace_id = $trace_id
group by b.file, b.line, p.passings, p.between_ns
order by p.between_ns desc, place
