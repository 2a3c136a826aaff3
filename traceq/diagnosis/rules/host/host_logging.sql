-- The training thread's time in logging and saving, in a trace without GPU work.
-- title: Logging or saving within steps
-- finds: Ranges and functions named after logging, printing, saving or checkpoints, in the counted steps of traces without GPU
--   activity.
-- matters: The step waits for something that training does not need.
-- measured: Own time of the training thread (host_time) in them, including all that runs in them. Shares: low 0.5 (done in
--   every second step only), likely 0.9 (in every tenth step, or on another thread, with a copy that remains), high 1.
-- try: Log every tenth step; keep values as tensors until then; save less often, or asynchronously.
-- references: https://docs.pytorch.org/docs/stable/distributed.checkpoint.html
--   https://docs.python.org/3/library/logging.handlers.html#queuehandler
-- heading: {% if share_of(steps_with_it, steps) >= often %}{{ 'Save' if worst.work == 'checkpoint' else 'Log' }} less often{% else %}{{ 'Save' if
--   worst.work == 'checkpoint' else 'Log' }} on another thread{% endif %}: {{ percent(claimed_share) }} of {% if subject.is_window %}the
--   window{% else %}a step{% endif %} is in {{ worst.name | cut }}
-- fix: {% if share_of(steps_with_it, steps) >= often %}Do it only every tenth step: `if step % 10 == 0: ...`. {% else %}Hand a
--   copy to another thread and carry on. {% endif %}{% if worst.work == 'checkpoint' %}{% if program.is_pytorch %}Saving does
--   not have to delay the steps: `torch.distributed.checkpoint.async_save(state, checkpoint_id=path)` copies the state and
--   writes it in the background. {% endif %}{% else %}Keep values as tensors until they are written, and write them together.
--   {% endif %}{{ cut(worst.name) }} runs in {{ steps_with_it }} of {{ steps }} steps, {{ per_step(claimed_ns) }}.
-- confidence: medium
-- reason: Its name, or what it calls, suggests that it logs or saves; the time is measured.
-- wrong-if: The name is misleading, or each of these records is needed at once.
-- needs: steps, host_alone
-- threshold: often = 0.5: in fewer than half of the steps it is rare already
-- low: 0.5
-- likely: 0.9
-- uses: host_time, side_work
select
    p.step, p.ts, p.dur,
    coalesce(if(p.ts < w.ts_end, w.name, null), c.name, p.name) as name,
    p.slice_id, p.dur as claimed, p.category as cause, p.piece_id as gap_id,
    if(p.ts < w.ts_end, w.work, 'checkpoint') as work
from host_time as p
asof left join (from side_work where work in ('logging', 'checkpoint')) as w on p.ts >= w.ts
left join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = p.context_slice_id
where p.ts < w.ts_end or p.category = 'checkpoint'
