-- Which process of the records the trace is of: by its pid on its host, else by its rank, else the only one. Only its own operations
-- stay, where that is known: of a job of a thousand ranks each trace would hold all.
-- reads: inspected_collective, inspected_communicator, inspected_match, inspected_process
-- makes: inspected_collective, inspected_match, inspected_process

create or replace temp table _inspected_owner as
with
candidate as (
    select
        p.process,
        p.pid in (select pid from thread where trace_id = $trace_id and pid is not null) as has_pid,
        coalesce(p.host = t.host, true) as may_be_host,
        p.host = t.host as is_host,
        p.rank = t.rank and (t.world_size is null or t.world_size = (select max(group_size) from inspected_communicator)) as has_rank,
        count(*) over () = 1 as is_only
    from inspected_process as p
    cross join trace as t
),

by_pid as (
    select process
    from candidate
    where has_pid and may_be_host and (is_host or (select count(*) from candidate where has_pid and may_be_host) = 1)
),

by_rank as (
    select process
    from candidate
    where has_rank and may_be_host and not exists (from by_pid)
)

from by_pid
union all
from by_rank
union all
select process
from candidate
where is_only and may_be_host and not exists (from by_pid) and not exists (from by_rank);

update inspected_process
set is_of_trace = process in (from _inspected_owner)
where exists (from _inspected_owner);

delete from inspected_collective
where exists (from _inspected_owner) and process not in (from _inspected_owner);

delete from inspected_match
where match_id not in (select match_id from inspected_collective where match_id is not null);
