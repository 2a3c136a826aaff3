-- Whether other ranks of this trace's job are in the database, and collectives that can be matched with theirs.
with
job as (
    select t.trace_id, t.rank
    from trace as t
    inner join trace as own on own.trace_id = $trace_id
    where
        t.run is not distinct from own.run
        and t.world_size is not distinct from own.world_size
        and t.rank is not null
        and own.rank is not null
    qualify count(*) over (partition by t.rank) = 1
)

select
    count(*) filter (trace_id <> $trace_id and $trace_id in (select trace_id from job)) as ranks,
    (
        select count(*)
        from collective
        where trace_id = $trace_id and sequence is not null and group_name is not null
    ) as numbered
from job
