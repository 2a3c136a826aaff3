-- Idle time of autograd's anomaly detection: after each node it asks whether its result holds a NaN (aten::isnan, then aten::item,
-- under the node itself), and waits for the answer.
-- heading: Switch anomaly detection off
-- for: pytorch, training
-- key: anomaly
-- fix: Switch anomaly detection off: remove `torch.autograd.detect_anomaly()` and `torch.autograd.set_detect_anomaly(True)`; in
--   Lightning, Trainer(detect_anomaly=True). After every node of the backward pass it reads back whether the result contains a
--   NaN: {{ plural(occurrences, 'wait') }} in {{ plural(steps_with_it, 'counted step') }}. To look for a NaN, switch it on only
--   for the step that has one.
-- confidence: high
-- reason: Autograd nodes call aten::isnan and read the result, which only anomaly detection does.
-- wrong-if: One of your own functions checks for NaN in its backward pass: then remove that check.
-- low: 0.5
-- likely: 1.0
-- uses: idle, anomaly_check
-- categories: idle_launch, idle_launch_latency, idle_python, idle_sync
-- only-with: host_slice_name: kind = 'op' and name = 'aten::isnan'
with
piece as (
    select p.step, p.ts, p.dur, p.cause, p.gap_id, coalesce(d.thread_id, c.thread_id) as thread_id, coalesce(d.ts, c.ts) as at
    from idle as p
    left join cpu_slice as d on d.trace_id = p.trace_id and d.slice_id = p.drained_by
    left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
    where
        p.cause in ('idle_sync', 'idle_launch', 'idle_python', 'idle_launch_latency')
        and exists (from anomaly_check)
)

select p.step, p.ts, p.dur, a.name, a.slice_id, p.dur as claimed, p.cause, p.gap_id, 'idle_sync' as scenario
from piece as p
asof inner join anomaly_check as a on a.thread_id = p.thread_id and p.at >= a.ts
where p.at < a.ts_end
