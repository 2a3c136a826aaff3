-- What is needed to understand a piece of a finding: the call that launched the GPU slice in question, the slices around both, and
-- when a gap that the piece lies in ends, with the launch that ended it.
with recursive
gap as (
    select ts_end, launch_slice_id, next_slice_id
    from idle_gap
    where trace_id = $trace_id and device = $device and ts <= $ts and ts_end > $ts
),

seed as (
    select $slice_id::bigint as slice_id
    union
    select launch_id from gpu_slice where trace_id = $trace_id and slice_id = $slice_id
    union
    select launch_slice_id from gap
    union
    select next_slice_id from gap
),

around as (
    select slice_id from seed
    union
    select c.parent_id
    from around as a
    inner join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = a.slice_id
)

select
    list(a.slice_id order by a.slice_id) filter (a.slice_id is not null) as kept,
    min(c.ts) filter (a.slice_id in (select slice_id from seed)) as first_call,
    (select max(ts_end) from gap) as gap_end
from around as a
left join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = a.slice_id
