-- Processes that others waited for, those with most waiting first: what makes at least a share of the time in collectives, and is
-- twice as much as that of the median process.
with
own as (
    select *, median(awaited) over () as usual, sum(dur) over () as whole
    from inspected_process
    where trace_id = $trace_id
),

-- who sends or receives by a slow link comes late to what follows
behind as (
    select source as process
    from inspected_link
    where trace_id = $trace_id and is_slow and source is not null
    union
    select target
    from inspected_link
    where trace_id = $trace_id and is_slow and target is not null
    union
    select c.process
    from inspected_link as l
    inner join inspected_collective as c on c.trace_id = l.trace_id and c.communicator = l.communicator
    where l.trace_id = $trace_id and l.is_slow
)

select
    process, host, last_count, matched, awaited as awaited_ns, late_by as late_by_ns, process in (from behind) as is_on_slow_link
from own
where awaited >= $least * whole and awaited > 2 * usual
order by awaited desc, process
