-- What the many kernels of an optimizer that updates parameters one by one cost: gaps that end with one, and their own time where
-- they are too short for the GPU to be full.
-- wrong-if: The range named optimizer holds more than the update, such as logging of gradients.
-- needs: gpu, steps, launches, phases
-- low: 0.4
-- likely: 0.85
-- high: 0.95
-- settings: kernels=50, short_ns=10000, kernel_share=0.5
-- uses: idle, busy, kernel_name, counted
-- categories: idle_launch, idle_launch_latency, idle_python
with
launched as (
    select g.slice_id, g.step, g.name, g.dur, c.slice_id as call_id, c.operator_id, c.phase_id
    from launch_state as s
    inner join gpu_slice as g using (trace_id, slice_id)
    inner join counted using (step)
    inner join cpu_slice as c on c.trace_id = g.trace_id and c.slice_id = g.launch_id
    where
        s.trace_id = $trace_id
        and s.phase = 'optimizer'
        and g.device = $device
        and g.kind = 'kernel'
        and not g.is_communication
),

-- Clearing gradients is no update; foreach and fused variants take many parameters at once.
single as (
    select l.slice_id, l.step, l.name, l.dur, l.call_id, coalesce(h.name, 'optimizer') as optimizer, o.name as operator
    from launched as l
    left join cpu_slice as h on h.trace_id = $trace_id and h.slice_id = l.phase_id
    left join cpu_slice as o on o.trace_id = $trace_id and o.slice_id = l.operator_id
    where
        not regexp_matches(coalesce(h.name, ''), '(?i)zero.?grad')
        and not regexp_matches(coalesce(o.name, ''), '_foreach_|_fused_|^aten::zero_')
        and l.name not in (select name from kernel_name where regexp_matches(name, '(?i)multi_?tensor|fused|FillFunctor|triton_'))
        and l.call_id not in (select slice_id from cpu_slice where trace_id = $trace_id and kind = 'runtime' and contains(name, 'GraphLaunch'))
),

crowd as (
    select step, count(*) as kernels
    from single
    group by step
    having count(*) >= $kernels and median(dur) < $short_ns
),

small as (
    select s.*, c.kernels
    from single as s
    inner join crowd as c using (step)
)

select p.step, p.ts, p.dur, coalesce(s.operator, s.name) as name, s.call_id as slice_id, p.dur as claimed, p.cause, p.gap_id, null::bigint as busy_id, s.kernels, s.optimizer
from idle as p
inner join small as s on s.slice_id = p.next_slice_id
where
    p.cause in ('idle_launch', 'idle_python', 'idle_launch_latency')
    and p.drained_by is null
union all
select b.step, b.ts, b.dur, coalesce(s.operator, s.name), b.slice_id, b.ledger_dur * $kernel_share, b.category, null, b.slice_id, s.kernels, s.optimizer
from busy as b
inner join small as s using (slice_id)
where s.dur < $short_ns
