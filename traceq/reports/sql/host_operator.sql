-- Operators by self time: their duration without the slices directly inside them. A child may outlast its parent
-- (clocks of whole microseconds), hence greatest().
with child as (
    select parent_id as slice_id, sum(dur) as dur
    from cpu_slice
    where trace_id = $trace_id and parent_id is not null
    group by parent_id
)

select name, count(*) as count, sum(greatest(o.dur - coalesce(c.dur, 0), 0))::bigint as self_dur, max(o.dur) as longest
from cpu_slice as o
left join child as c using (slice_id)
where trace_id = $trace_id and kind = 'op'
group by name
order by self_dur desc, name
limit $top
