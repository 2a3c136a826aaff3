-- How many workers a loader has that has any, one row: those that are seen, else what the snapshot of the run's settings says; NULL where
-- nothing does, or loaders differ.
select
    coalesce(
        (select nullif(count(distinct thread_id), 0) from data_worker where trace_id = $trace_id and role = 'worker'),
        (
            select if(min(try_cast(value as integer)) = max(try_cast(value as integer)), max(try_cast(value as integer)), null)
            from made_with
            where trace_id = $trace_id and topic = 'loader' and name = 'num_workers' and try_cast(value as integer) > 0
        )
    ) as workers
