-- What records of collectives are of, and how much of it belongs together.
with
process as (
    select
        count(*) as processes,
        if(count(host) = count(*), count(distinct host), null) as hosts,
        coalesce(sum(records), 0)::bigint as records,
        coalesce(sum(repeated), 0)::bigint as repeated,
        coalesce(sum(matched), 0)::bigint as matched,
        coalesce(sum(dur), 0)::bigint as dur_ns,
        coalesce(sum(transfer), 0)::bigint as transfer_ns,
        coalesce(sum(wait), 0)::bigint as wait_ns,
        min(first_utc_ns) as first_utc_ns,
        max(last_utc_ns) as last_utc_ns
    from inspected_process
    where trace_id = $trace_id
),

communicator as (
    select
        count(*) as communicators,
        count(*) filter (processes = group_size) as complete
    from inspected_communicator
    where trace_id = $trace_id
),

timing as (
    select
        list_sort(list(distinct timing) filter (timing is not null)) as sources,
        coalesce(bool_and(utc_source = 'dump') filter (utc_source is not null), false) as only_dump_times
    from inspected_collective
    where trace_id = $trace_id
)

select
    p.processes, p.hosts, c.communicators, c.complete, p.records, p.repeated, p.matched, p.dur_ns, p.transfer_ns, p.wait_ns,
    p.first_utc_ns, p.last_utc_ns, t.only_dump_times, t.sources
from process as p
cross join communicator as c
cross join timing as t
