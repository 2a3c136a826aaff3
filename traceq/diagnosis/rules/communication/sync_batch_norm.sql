-- Exposed collectives that SyncBatchNorm asks for, forward and backward.
-- title: SyncBatchNorm waits for all ranks in every layer
-- finds: The collectives of synchronized batch normalization that run while no compute does: an all-gather per layer
--   in the forward pass, an all-reduce per layer in the backward pass.
-- matters: They carry a few kilobytes, so their time is latency and waiting for the last rank, once per layer and
--   direction. Nothing hides it, because the next kernel needs the result.
-- measured: Communication launched within operators or ranges called SyncBatchNorm... in the counted steps, where
--   exposed (busy_piece). low 0.3, likely 0.8, high 1: plain batch normalization needs none of them.
-- try: Plain BatchNorm where the batch per GPU is large enough (16 or more), GroupNorm or LayerNorm, frozen statistics
--   when fine-tuning, or a small process group.
-- references: https://docs.pytorch.org/docs/stable/generated/torch.nn.SyncBatchNorm.html
-- fix: With 16 or more samples per GPU, leave out `SyncBatchNorm.convert_sync_batchnorm(model)`. With fewer,
--   synchronize within a node only, `convert_sync_batchnorm(model, process_group=ranks_of_this_node)`, or use
--   `torch.nn.GroupNorm`. SyncBatchNorm needs {{ described(facts) }}, {{ time(facts.dur) }} each (median).
-- confidence: high
-- reason: The collectives are launched within SyncBatchNorm's operators.
-- wrong-if: The batch per GPU is so small that training needs statistics from all ranks.
-- heading: Leave out SyncBatchNorm: it waits for all ranks in every layer
-- for: pytorch, training
-- about: communication
-- unknown: {% if not has('operators') and not has('annotations') %}the trace has no operators and no ranges, so it
--   does not show whether SyncBatchNorm ran {%- endif %}
-- facts: collective_summary
-- low: 0.3
-- likely: 0.8
-- high: 1.0
-- uses: busy
-- categories: communication
-- only-with: host_slice_name: kind in ('op', 'annotation') and starts_with(name, 'SyncBatchNorm')
with
norm as (
    select thread_id, ts, ts_end
    from cpu_slice
    where trace_id = $trace_id and kind in ('op', 'annotation') and starts_with(name, 'SyncBatchNorm')
),

slice as (
    select b.step, b.ts, b.dur, b.name, b.slice_id, b.ledger_dur, l.thread_id, l.ts as launched
    from busy as b
    inner join cpu_slice as l on l.trace_id = b.trace_id and l.slice_id = b.launch_id
    where b.category = 'communication' and b.ledger_dur > 0
)

select
    s.step, s.ts, s.dur, s.name, s.slice_id, s.ledger_dur as claimed, 'communication' as cause, 'communication' as scenario, s.slice_id as busy_id, c.op, c.bytes,
    c.group_size
from slice as s
asof inner join norm as n on n.thread_id = s.thread_id and s.launched >= n.ts
inner join collective_slice as c on c.trace_id = $trace_id and c.slice_id = s.slice_id
where s.launched < n.ts_end
