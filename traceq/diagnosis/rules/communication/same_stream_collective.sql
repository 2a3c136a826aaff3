-- Gradients and parameters that are communicated on a stream which also computes: nothing launched after them can overlap them.
-- title: Communication on the compute stream
-- finds: Reductions of gradients and gathers of parameters that run on the same stream as the kernels that compute.
-- matters: Work on one stream runs one after the other. Gradients of one layer could be reduced while the next one computes,
--   but here everything launched later waits, whether it needs the result or not.
-- measured: Exposed time of collective_slice in the counted steps, on streams that have at least 25 % of the device's compute
--   (side streams that pack buckets have less): reductions launched in the backward pass and gathers in forward or backward.
--   All-reduces that also occur in the forward pass do not count, nor do all-to-alls: the next kernel waits for them anyway.
--   low 0.1, likely 0.5, high 0.9.
-- try: DistributedDataParallel and FSDP use their own streams. By hand: async_op=True, and wait before the optimizer.
-- references: https://docs.pytorch.org/docs/stable/distributed.html
--   https://docs.pytorch.org/docs/stable/notes/cuda.html
-- fix: {{ remedy('communicate_apart') }} {{ collectives() }} run on stream {{ worst.stream }}, which also computes.
-- confidence: medium
-- reason: Stream and phase are in the trace; that the next kernels do not need the result is inferred from the phase.
-- wrong-if: The kernels that follow on the stream use what was communicated.
-- heading: Communicate on a separate stream
-- needs: gpu, steps, phases
-- about: communication
-- low: 0.1
-- likely: 0.5
-- high: 0.9
-- threshold: share = 0.25: side streams that pack buckets have a few per cent of the compute; a stream with a quarter
--   of it is one on which the program computes
-- uses: busy
-- categories: communication
with
slice as (
    select b.step, b.ts, b.dur, b.name, b.slice_id, b.ledger_dur, b.stream, c.op, c.bytes, p.phase
    from busy as b
    inner join collective_slice as c on c.trace_id = b.trace_id and c.slice_id = b.slice_id
    left join launch_state as p on p.trace_id = b.trace_id and p.slice_id = b.slice_id
    where
        b.category = 'communication'
        and b.ledger_dur > 0
        and (
            c.op in ('all_reduce', 'reduce_scatter', 'reduce') and p.phase = 'backward'
            or c.op = 'all_gather' and p.phase in ('forward', 'backward')
        )
),

of_stream as (
    select stream, sum(exclusive_dur) as compute
    from kernel_occupancy as k
    inner join gpu_slice as g using (trace_id, slice_id)
    where k.trace_id = $trace_id and k.device = $device and not g.is_communication and g.stream is not null
    group by stream
)

select
    s.step, s.ts, s.dur, s.name, s.slice_id, s.ledger_dur as claimed, 'communication' as cause, 'communication_overlap' as scenario, s.slice_id as busy_id, s.op, s.bytes,
    s.stream, s.phase
from slice as s
inner join of_stream as o on o.stream = s.stream
where
    -- streams that only pack and unpack for communication are no streams of compute
    o.compute >= $share * (select sum(compute) from of_stream)
    -- all-reduces inside layers are awaited by the next kernel on any stream
    and not exists (
        select 1
        from collective_slice as f
        inner join launch_state as l on l.trace_id = f.trace_id and l.slice_id = f.slice_id
        where f.trace_id = $trace_id and f.device = $device and f.op = s.op and l.phase = 'forward' and s.op = 'all_reduce'
    )
