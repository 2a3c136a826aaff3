-- Which slices of communication are one collective: by communicator or group and sequence number, else by the ordinal in the step,
-- else by their ends.
-- Groups without a name that all ranks know are in _job_group (traceq/analysis/job/groups.py).
-- Sends and receives whose peer is known are in _job_message.
-- reads: _job_group, _job_identified, _job_keyed, _job_message, _job_slice
-- makes: _job_matched, _job_member, collective_match

create or replace temp view _job_identified as
select
    s.*,
    case
        when s.comms_id is not null then 'id ' || s.comms_id
        when s.is_address then g.identity
        else s.group_name || ' ' || coalesce(s.group_ranks, '') || ' ' || coalesce(s.group_size::varchar, '')
    end as identity,
    -- texts of millions of rows need not be made to be thrown away
    s.comms_id is not null or if(s.is_address, g.identity, s.group_name) is not null as has_identity
from _job_slice as s
left join _job_group as g
    on g.job = s.job and g.time_window = s.time_window and g.unit = s.unit and g.group_name = s.group_name;

create or replace temp table _job_counted as
with
-- What has a number needs no counting: nearly all of a large job.
counted as (
    select
        *,
        row_number() over (
            partition by job, time_window, unit, identity, step_name, op order by ts, slice_id
        ) as ordinal,
        count(*) over (partition by job, time_window, unit, identity, step_name, op) as in_step
    from _job_identified
    where not (has_identity and sequence is not null) and (trace_id, slice_id) not in (select (trace_id, slice_id) from _job_message)
),

-- Ordinals hold where all ranks have as many.
even as (
    select job, time_window, identity, step_name, op, min(in_step) = max(in_step) as is_even
    from counted
    where identity is not null
    group by job, time_window, identity, step_name, op
),

keyed as (
    select c.*, e.is_even is not null and e.is_even as is_counted
    from counted as c
    left join even as e
        on
            e.job = c.job
            and e.time_window = c.time_window
            and e.identity = c.identity
            and e.step_name is not distinct from c.step_name
            and e.op = c.op
),

-- Slices of which nothing is recorded: those that end together, in chains of ends less than 1 ms apart.
ends as (
    select
        slice_id, trace_id, job, time_window, unit, op, ts_end,
        sum(is_apart::integer) over (partition by job, time_window, op order by utc_end, trace_id, slice_id rows unbounded preceding) as chain
    from (
        select
            *,
            origin + ts_end as utc_end,
            coalesce(
                origin + ts_end - lag(origin + ts_end) over (
                    partition by job, time_window, op order by origin + ts_end, trace_id, slice_id
                ) > 1000000,
                true
            ) as is_apart
        from keyed
        where not is_counted and sequence is null and origin is not null
    )
),

-- Within a chain the first of each rank belong together, then the second, where all ranks have as many.
chained as (
    select
        *,
        row_number() over (partition by job, time_window, op, chain, unit order by ts_end, slice_id) as ordinal
    from ends
),

chain as (
    select job, time_window, op, chain, count(*) = max(ordinal) * count(distinct unit) as is_even
    from chained
    group by job, time_window, op, chain
)

select
    k.trace_id,
    k.slice_id,
    coalesce(k.identity, if(h.is_even, 'together', null)) as identity,
    if(k.is_counted, 'counted', if(h.is_even, 'co_end', null)) as match_source,
    if(k.is_counted, coalesce(k.step_name, '') || ' ' || k.ordinal::varchar, d.chain::varchar || ' ' || d.ordinal::varchar) as place
from keyed as k
left join chained as d using (trace_id, slice_id)
left join chain as h on h.job = d.job and h.time_window = d.time_window and h.op = d.op and h.chain = d.chain
union all
select trace_id, slice_id, identity, 'pair', place
from _job_message;

-- No table: of a large job that would be the largest.
create or replace temp view _job_keyed as
select *, if(comms_id is null, 'sequence', 'comms_id') as match_source, null::varchar as place
from _job_identified
where has_identity and sequence is not null
union all
select i.* replace (c.identity as identity, null::bigint as sequence), c.match_source, c.place
from _job_identified as i
inner join _job_counted as c using (trace_id, slice_id);

create or replace temp table _job_matched as
with
grouped as (
    select
        job, time_window, identity, op, match_source, sequence, place,
        count(*) as members,
        count(distinct unit) as units,
        max(group_size) as group_size,
        min(bytes) is not distinct from max(bytes) as same_bytes,
        min(bytes) as bytes,
        min(ts) as first_seen
    from _job_keyed
    where match_source is not null
    group by all
)

select
    *,
    members = units
    and members <= coalesce(group_size, members)
    and (same_bytes or op in ('all_to_all', 'gather', 'scatter', 'send_recv', 'unknown')) as fits,
    row_number() over (partition by job, time_window, fits order by first_seen, identity, op, coalesce(place, sequence::varchar)) - 1 as match_id
from grouped
where members > 1;

insert into collective_match by name
select
    job, time_window, match_id, op,
    if(same_bytes, bytes, null) as bytes,
    identity as group_id,
    group_size, members, match_source,
    0 as transfer,
    'duration' as wait_source,
    -- of groups that lack ranks job_absent.sql tells
    if(members >= if(op = 'send_recv', 2, group_size), 0, null) as wait_absent
from _job_matched
where fits;

-- All slices of communication, with their collective. Written to collective_member once it is known what to say of them.
create or replace temp table _job_member as
select
    k.job, k.time_window, k.unit, k.trace_id, k.slice_id, k.op, k.is_send, k.bytes, k.group_name, k.group_size,
    k.stream, k.step, k.ts, k.ts_end, k.dur, k.blocking, k.exposed, k.origin, m.match_id
from _job_keyed as k
left join _job_matched as m
    on
        m.fits
        and m.job = k.job
        and m.time_window = k.time_window
        and m.identity = k.identity
        and m.op = k.op
        and m.match_source = k.match_source
        and m.sequence is not distinct from k.sequence
        and m.place is not distinct from k.place;

drop view _job_keyed;
drop table _job_message;
drop view _job_identified;
drop table _job_slice;
