-- No host slice is charged with more idle time of a device than it is long.
with
charged as (
    select g.device, c.slice_id, sum(c.dur) as dur
    from idle_culprit as c
    inner join idle_gap as g using (trace_id, gap_id)
    where c.trace_id = $trace_id
    group by g.device, c.slice_id
)

select
    c.slice_id,
    c.device,
    s.slice_id is null or c.dur > s.dur as is_broken,
    'cpu_slice ' || c.slice_id || ' on device ' || c.device as place
from charged as c
left join cpu_slice as s on s.trace_id = $trace_id and s.slice_id = c.slice_id
-- in a database from before this table one slice stands for all
where exists (from idle_gap_cause where trace_id = $trace_id and slice_dur is not null)
