-- GPU work of the counted steps: what launched it, -1 if that is not known, its `label` in flame_work_name, and its step.
select coalesce(g.launch_id, -1) as launch_id, n.label, g.dur, g.step
from gpu_slice as g
inner join flame_work_name as n
    on n.own_name = g.name and n.own_kind = g.kind and n.copy_kind = coalesce(g.copy_kind, '') and n.is_communication = g.is_communication
where g.trace_id = $trace_id and g.step in (select step from step where trace_id = $trace_id and excluded is null)
