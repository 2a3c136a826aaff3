-- What zeroing gradients costs: fills and memsets launched under zero_grad, the launching where the GPU waits for it, and the
-- additions to zeroed gradients (where they are not more than what was zeroed: each is added to once).
-- title: Zeroing gradients
-- finds: Fills and memsets that zero gradients, the time the GPU waits for their launches, and the additions of new gradients
--   to these zeros.
-- matters: The backward pass writes a gradient that is None once; a zeroed gradient is written, read and written again, and
--   nothing is gained.
-- measured: Kernels and memsets launched within ranges or frames named zero_grad, idle time of causes idle_launch and
--   idle_python within them, and elementwise kernels launched by AccumulateGrad if there are at most 1.5 times as many
--   as were zeroed (with several micro-batches per step the later ones add to something). Shares: 0.5 low, 1 likely, 1
--   high.
-- try: optimizer.zero_grad(set_to_none=True), the default since PyTorch 2.0, also for model.zero_grad().
-- references: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
--   https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html
-- fix: Set gradients to None instead of zero: `optimizer.zero_grad(set_to_none=True)`. Zeroing takes {{ of_step(claimed_ns) }}:
--   the fills, waiting for their launches, and adding to zeros.
-- confidence: high
-- reason: The work was launched within zero_grad, or adds to as many gradients as were zeroed.
-- wrong-if: Something relies on gradients being zero rather than None, or several backward passes add to them before the next
--   zero_grad.
-- heading: Set gradients to None instead of zero
-- for: pytorch, training
-- needs: gpu, steps, launches, python_frames|annotations
-- captures: host_only, steps, window
-- clean: zero_grad zeroed nothing
-- low: 0.5
-- uses: idle, busy
-- categories: compute, idle_launch, idle_python, memset
-- only-with: host_slice_name: kind in ('annotation', 'op', 'python') and regexp_matches(name, '\bzero_grad\b')
with
-- Outermost ranges only: they do not nest in one another, so that the one begun last is the one around an instant.
zeroing as (
    select slice_id, thread_id, ts, ts_end
    from (
        select
            *,
            coalesce(max(ts_end) over (
                partition by thread_id order by ts, -dur, slice_id rows between unbounded preceding and 1 preceding
            ), 0) as covered
        from cpu_slice
        where
            trace_id = $trace_id
            and kind in ('annotation', 'op', 'python')
            and contains(name, 'zero_grad')
            and regexp_matches(name, '\bzero_grad\b')
    )
    where ts >= covered
),

launched as (
    select b.step, b.ts, b.dur, b.name, b.slice_id, b.ledger_dur, b.category, l.phase_id, l.thread_id, l.ts as called
    from busy as b
    inner join cpu_slice as l on l.trace_id = b.trace_id and l.slice_id = b.launch_id
    where
        b.category in ('compute', 'memset')
        and exists (from zeroing)
),

fill as (
    select l.*
    from launched as l
    asof inner join zeroing as z on z.thread_id = l.thread_id and l.called >= z.ts
    where l.called < z.ts_end
),

addition as (
    select l.*
    from launched as l
    inner join cpu_slice as p on p.trace_id = $trace_id and p.slice_id = l.phase_id
    inner join kernel_occupancy as k on k.trace_id = $trace_id and k.slice_id = l.slice_id
    where p.name in ('torch::autograd::AccumulateGrad', 'AccumulateGrad') and k.family = 'elementwise'
),

late as (
    select p.step, p.ts, k.dur, c.name, c.slice_id, p.cause, p.gap_id
    from idle as p
    inner join idle_culprit as k using (trace_id, gap_id, cause)
    inner join cpu_slice as c on c.trace_id = k.trace_id and c.slice_id = k.slice_id
    asof inner join zeroing as z on z.thread_id = c.thread_id and c.ts >= z.ts
    where
        p.cause in ('idle_launch', 'idle_python')
        and c.ts < z.ts_end
        and exists (from fill)
)

select
    step, ts, dur, name, slice_id, ledger_dur as claimed, category as cause, null as gap_id,
    slice_id as busy_id,
    'zeroing' as work
from fill
union all
select step, ts, dur, name, slice_id, ledger_dur, category, null, slice_id, 'adding to zeros'
from addition
where (select count(*) from addition) <= 1.5 * (select count(*) from fill)
union all
select step, ts, dur, name, slice_id, dur, cause, gap_id, null, 'GPU idle'
from late
