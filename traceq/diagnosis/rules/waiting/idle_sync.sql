-- Idle time in which the host sits in a call that waits for the device.
-- title: GPU idle: the host is in a call that waits for the GPU
-- finds: Time in which the GPU has nothing to do while the host is still in a call that waits for it, or that copies
--   pageable memory, where no more specific rule explains the call.
-- matters: Such a call takes a while to return, and the host cannot launch anything until it does.
-- measured: The pieces of cause idle_sync in the counted steps (idle_piece); if a framework waits without a runtime
--   call (block_until_ready), also the time that the host then takes to launch into the empty queue (wait_debt).
--   Shares: low 0.3, likely 1, high 1: the call may be needed.
-- try: Find the callers: profile(with_stack=True), or torch.cuda.set_sync_debug_mode("warn").
-- references: https://docs.pytorch.org/docs/stable/generated/torch.cuda.set_sync_debug_mode.html
--   https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization
-- fix: {{ remedy('find_syncs') }} The GPU idles for {{ per_step(claimed_ns) }} while the host is in calls that wait
--   for it, the longest in {{ cut(worst.name) }} ({{ time(worst.claimed) }}).
-- confidence: medium
-- reason: The call is in the trace; why the program makes it is not.
-- wrong-if: The host needs the result before it can go on.
-- same-fix: no-synchronization
-- needs: gpu, steps, calls
-- low: 0.3
-- likely: 1.0
-- rest: yes
-- uses: idle, drained_gap
-- categories: idle_launch, idle_launch_latency, idle_python, idle_sync
-- heading: Find the calls that wait for the GPU, and wait later
select p.step, p.ts, p.dur, c.name, p.cpu_slice_id as slice_id, p.dur as claimed, p.cause, p.gap_id, null as scenario
from idle as p
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
where p.cause = 'idle_sync'
union all
select p.step, p.ts, p.dur, c.name, c.slice_id, p.dur * w.share, p.cause, p.gap_id, 'idle_sync'
from idle as p
inner join drained_gap as w using (gap_id)
inner join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = w.call_id
where
    c.kind <> 'runtime'
    and (p.cause in ('idle_launch', 'idle_python') or (p.cause = 'idle_launch_latency' and p.dur < $queued_ns))
