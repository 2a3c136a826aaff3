-- The first place (number of a collective within its group) of each group at which its ranks differ: another operation, other bytes
-- where all need the same, or none between two that all ranks have. `other_ranks` are the most that are alike,
-- `ranks` each of the fewer that are, `group_ranks` all of the group that are here.
-- Groups with sends and receives are left out, which ranks number on their own.
with
process_group as (
    select group_id, max(group_size) as group_size, max(members) as members
    from collective_match
    where job = $job and time_window = $time_window and match_source in ('comms_id', 'sequence')
    group by group_id
    having not bool_or(op = 'send_recv')
),

-- A slice of each rank tells what the rank calls the group.
example as (
    select m.unit, m.trace_id, c.group_id, min(m.slice_id) as slice_id
    from collective_member as m
    inner join collective_match as c using (job, time_window, match_id)
    inner join process_group as p on p.group_id = c.group_id
    where m.job = $job and m.time_window = $time_window
    group by m.unit, m.trace_id, c.group_id
),

named as (
    select e.unit, e.group_id, s.group_name
    from example as e
    inner join collective_slice as s using (trace_id, slice_id)
    qualify count(*) over (partition by e.unit, s.group_name) = 1
),

-- More ranks than the group has are those of several groups of one name.
whole as (
    select n.group_id, count(*) as units
    from named as n
    inner join process_group as p using (group_id)
    group by n.group_id
    having count(*) between 2 and max(p.group_size)
),

unmatched as (
    select m.unit, m.trace_id, m.slice_id, s.op, s.bytes, n.group_id
    from collective_member as m
    inner join collective_slice as s using (trace_id, slice_id)
    inner join named as n on n.unit = m.unit and n.group_name = s.group_name
    where m.job = $job and m.time_window = $time_window and m.match_id is null
),

-- Of a send that names no group any may be.
sending as (
    select distinct n.group_id
    from collective_slice as s
    inner join collective_member as m using (trace_id, slice_id)
    inner join named as n on n.unit = m.unit and n.group_name = coalesce(s.group_name, n.group_name)
    where s.op in ('send', 'recv', 'send_recv') and m.job = $job and m.time_window = $time_window
),

-- Groups of which all ranks have all are most: of them nothing more is read.
doubtful as (
    select w.group_id, w.units
    from whole as w
    where
        (
            exists (
                from collective_match as c
                where c.job = $job and c.time_window = $time_window and c.group_id = w.group_id and c.members < w.units
            )
            or exists (from unmatched as u where u.group_id = w.group_id)
        )
        and w.group_id not in (from sending)
),

member as (
    select m.unit, m.trace_id, m.slice_id, c.op, s.bytes, c.group_id
    from collective_match as c
    inner join doubtful as d using (group_id)
    inner join collective_member as m using (job, time_window, match_id)
    inner join collective_slice as s using (trace_id, slice_id)
    where c.job = $job and c.time_window = $time_window
    union all
    select u.unit, u.trace_id, u.slice_id, u.op, u.bytes, u.group_id
    from unmatched as u
    inner join doubtful as d using (group_id)
),

numbered as (
    select
        m.group_id, m.unit, m.op, m.bytes, c.sequence, g.ts,
        -- a list of tensors may be gathered or scattered in parts of different sizes
        m.op in ('all_reduce', 'broadcast', 'reduce')
        or regexp_matches(c.op, '_base$|^ncclAllGather|^ncclReduceScatter') as is_equal
    from member as m
    inner join collective as c using (trace_id, slice_id)
    inner join gpu_slice as g using (trace_id, slice_id)
    where c.sequence is not null
),

-- What a rank seems to lack may be a slice of its that has no number, or none of a group.
unnumbered as (
    select distinct n.group_id
    from collective_member as m
    inner join collective_slice as s using (trace_id, slice_id)
    inner join named as n on n.unit = m.unit and n.group_name = coalesce(s.group_name, n.group_name)
    inner join doubtful as d on d.group_id = n.group_id
    left join collective as c using (trace_id, slice_id)
    where m.job = $job and m.time_window = $time_window and c.sequence is null
),

place as (
    select
        n.group_id,
        n.sequence,
        any_value(d.units) as units,
        count(*) as members,
        count(distinct n.op) > 1 as has_other_op,
        bool_and(n.is_equal) and min(n.bytes) < max(n.bytes) as has_other_bytes,
        -- of these a rank without a part may launch nothing
        bool_or(n.op in ('all_to_all', 'gather', 'scatter')) as may_lack
    from numbered as n
    inner join doubtful as d using (group_id)
    group by n.group_id, n.sequence
    having count(*) = count(distinct n.unit) and not bool_or(n.op = 'unknown')
),

-- Captures begin and end apart: only between places that all ranks have is what a rank lacks evidence, by number and by time.
common as (
    select n.group_id, n.unit, min(n.sequence) as sequence_first, max(n.sequence) as sequence_last, min(n.ts) as ts_first, max(n.ts) as ts_last
    from numbered as n
    inner join place as p using (group_id, sequence)
    where p.members = p.units and not p.has_other_op and not p.has_other_bytes
    group by n.group_id, n.unit
),

inside as (
    select n.group_id, n.sequence
    from numbered as n
    inner join place as p using (group_id, sequence)
    inner join common as c using (group_id, unit)
    where p.members < p.units
    group by n.group_id, n.sequence
    having
        bool_and(
            n.sequence > c.sequence_first and n.sequence < c.sequence_last and n.ts > c.ts_first and n.ts < c.ts_last
        )
),

odd as (
    select
        p.group_id,
        p.sequence,
        case when p.has_other_op then 'operation' when p.has_other_bytes then 'bytes' else 'missing' end as differs,
        count(*) over (partition by p.group_id) as places
    from place as p
    left join inside as i using (group_id, sequence)
    where
        p.has_other_op
        or p.has_other_bytes
        or (i.sequence is not null and not p.may_lack and p.group_id not in (select group_id from unnumbered))
    qualify row_number() over (partition by p.group_id order by p.sequence) = 1
),

-- What the ranks have there; of a rank that lacks it nothing.
variant as (
    select
        o.group_id, o.sequence, o.differs, o.places, n.op,
        if(o.differs = 'bytes', n.bytes, null) as bytes,
        list(r.rank order by r.unit) as ranks
    from odd as o
    inner join named as g using (group_id)
    inner join job_rank as r on r.job = $job and r.time_window = $time_window and r.unit = g.unit
    left join numbered as n on n.group_id = o.group_id and n.sequence = o.sequence and n.unit = g.unit
    -- a rank that lacks it does not differ in the operation
    where o.differs = 'missing' or n.op is not null
    group by o.group_id, o.sequence, o.differs, o.places, n.op, if(o.differs = 'bytes', n.bytes, null)
),

ranked as (
    select *, row_number() over (partition by group_id order by len(ranks) desc, op is null, ranks) as number
    from variant
),

member_rank as (
    select g.group_id, list(r.rank order by r.unit) as ranks
    from named as g
    inner join job_rank as r on r.job = $job and r.time_window = $time_window and r.unit = g.unit
    group by g.group_id
)

select
    o.ranks, o.sequence, o.differs, o.op, o.bytes, u.ranks as other_ranks, u.op as other_op,
    u.bytes as other_bytes, o.places, o.group_id, g.ranks as group_ranks
from ranked as o
inner join ranked as u on u.group_id = o.group_id and u.number = 1
inner join member_rank as g on g.group_id = o.group_id
where o.number > 1
qualify dense_rank() over (order by o.group_id) <= 16
order by o.group_id, o.number
