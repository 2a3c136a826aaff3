-- How many CPU cores the program could use, and how many threads its operators ran on: one row, from the snapshot of the run's settings or a
-- log of the machine beside the trace; NULL where nothing says so.
with
setting as (
    select name, try_cast(value as double) as value
    from made_with
    where trace_id = $trace_id and topic in ('host', 'threads')
)

select
    coalesce(
        (select min(value) from setting where name in ('cpus', 'affinity', 'cpu_quota')),
        (select max(value) from counter where trace_id = $trace_id and name = 'cpu_count')
    ) as cores,
    (select max(value) from setting where name = 'intra_op_threads') as threads
