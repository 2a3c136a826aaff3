-- What is around the slices of level $level in _around and over before the next launch. Level by level, because a recursive
-- query hashes all slices of the trace.
-- reads: _around
-- makes: _around
insert into _around
select a.level + 1 as level, a.round, a.until, p.parent_id, p.kind, p.ts_end, p.depth
from _around as a
inner join cpu_slice as p on p.slice_id = a.parent_id
where a.level = $level and p.ts_end <= a.until;
