-- The traces of this trace's job: run and size of the world agree, and every rank is there once.
select t.trace_id, t.rank, coalesce(t.utc_origin_ns, 0) as origin, t.world_size
from trace as t
inner join trace as own on own.trace_id = $trace_id
where
    t.run is not distinct from own.run
    and t.world_size is not distinct from own.world_size
    and t.rank is not null
    and own.rank is not null
qualify count(*) over (partition by t.rank) = 1
