-- The communication of a trace by axis of parallelism, in counted steps: sums over its devices.
select
    a.axis,
    string_agg(distinct a.axis_source, ', ' order by a.axis_source) as source,
    sum(a.groups) // count(distinct (a.device, a.step)) as groups,
    sum(a.collectives)::bigint as collectives,
    sum(a.bytes)::bigint as bytes,
    sum(a.dur)::bigint as dur_ns,
    sum(a.exposed)::bigint as exposed_ns,
    sum(a.told)::bigint as told,
    sum(a.transfer)::bigint as transfer_ns,
    sum(a.wait)::bigint as wait_ns
from axis_time as a
inner join step as s on s.trace_id = a.trace_id and s.step = a.step
where a.trace_id = $trace_id and s.excluded is null
group by a.axis
order by dur_ns desc, a.axis
