-- gpu_slice: the staged GPU work with its launch, its step and whether it communicates, in the order of each device's timeline.
-- reads: _gpu_launch, _gpu_step
-- makes: gpu_slice

insert into gpu_slice by name
select
    $trace_id as trace_id,
    g.*, l.launch_id, s.step, l.is_communication
from staging.gpu_slice as g
inner join _gpu_launch as l using (slice_id)
left join _gpu_step as s using (slice_id)
order by g.device, g.ts, g.slice_id;
