-- The root of each matched broadcast, scatter, reduce and gather, where all ranks that tell one tell the same. Kineto has its place in
-- the group as Rank of the operator record_param_comms (docs/decisions/0042), NCCL's own ranges of nsys as Root.
-- reads: _job_member, collective, collective_match, job_rank
-- makes: _job_uneven_wait, collective_match

create or replace temp table _job_root as
with
directed as (
    select job, time_window, match_id, unit, trace_id, slice_id
    from _job_member
    where op in ('broadcast', 'scatter', 'reduce', 'gather') and match_id is not null
),

-- The kernel does not carry all of what its operator says.
operator as (
    select d.trace_id, d.slice_id, any_value(c.args) as args, any_value(c.group_rank) as group_rank
    from directed as d
    inner join gpu_slice as g on g.trace_id = d.trace_id and g.slice_id = d.slice_id
    inner join cpu_slice as s on s.trace_id = g.trace_id and s.external_id = g.external_id
    inner join collective as c on c.trace_id = s.trace_id and c.slice_id = s.slice_id
    where g.external_id > 0
    group by d.trace_id, d.slice_id
    having count(*) = 1
),

said as (
    select
        d.*,
        coalesce(c.group_rank, o.group_rank) as group_rank,
        try_cast(coalesce(c.args ->> 'root_rank', c.args ->> 'Rank', o.args ->> 'Rank') as integer) as place,
        try_cast(coalesce(c.args ->> 'Global rank start', o.args ->> 'Global rank start') as integer) as first_rank,
        try_cast(coalesce(c.args ->> 'Global rank stride', o.args ->> 'Global rank stride') as integer) as stride,
        -- of many ranks only the first are listed
        regexp_extract_all(
            split_part(coalesce(c.args ->> 'Process Group Ranks', o.args ->> 'Process Group Ranks'), '...', 1), '\d+'
        ) as listed
    from directed as d
    left join collective as c on c.trace_id = d.trace_id and c.slice_id = d.slice_id
    left join operator as o on o.trace_id = d.trace_id and o.slice_id = d.slice_id
),

placed as (
    select
        s.job, s.time_window, s.match_id,
        min(s.place) as place,
        max(s.unit) filter (s.group_rank = s.place) as unit,
        bool_or(s.group_rank is not null) as has_places,
        coalesce(
            max(try_cast(s.listed[s.place + 1] as integer)),
            max(s.first_rank + s.place * s.stride) filter (s.first_rank >= 0 and s.stride > 0),
            -- groups are made of ranks in their order
            if(count(*) = any_value(c.group_size), list(r.rank order by r.rank)[min(s.place) + 1], null)
        ) as rank
    from said as s
    inner join collective_match as c using (job, time_window, match_id)
    inner join job_rank as r on r.job = s.job and r.time_window = s.time_window and r.unit = s.unit
    group by s.job, s.time_window, s.match_id
    having min(s.place) = max(s.place) and min(s.place) >= 0
)

select p.job, p.time_window, p.match_id, if(p.has_places, p.unit, r.unit) as unit
from placed as p
left join job_rank as r on r.job = p.job and r.time_window = p.time_window and r.rank = p.rank;

update collective_match
set root_unit = f.unit
from _job_root as f
where
    collective_match.job = f.job
    and collective_match.time_window = f.time_window
    and collective_match.match_id = f.match_id;

drop table _job_root;

-- The waits in these and in all-to-alls, slice by slice; filled window by window.
create or replace temp table _job_uneven_wait (trace_id integer, slice_id bigint, wait bigint);
