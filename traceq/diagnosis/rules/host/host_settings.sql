-- How many cores and threads the program had, and whether all of its loaders with workers keep them from epoch to epoch; one row, NULL where
-- nothing says so.
-- uses: host_cores
select
    cores,
    threads,
    (
        select bool_and(value = 'true')
        from made_with
        where trace_id = $trace_id and topic = 'loader' and name = 'persistent_workers'
    ) as keeps_workers
from host_cores
