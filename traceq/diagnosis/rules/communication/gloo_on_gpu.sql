-- Collectives of Gloo on tensors of the GPU: copies out and back, and idle time while the host communicates.
-- title: Gloo communicates GPU tensors
-- finds: Collectives of the Gloo backend whose tensors come from the GPU: they are copied to the host, sent from
--   there, and copied back.
-- matters: NCCL sends from GPU to GPU, over NVLink or the network card, and on a stream, so the host stays free. Gloo crosses
--   PCIe twice, adds up on the CPU, and is 10 to 100 times slower.
-- measured: Operations of Gloo in host_collective other than barriers, with a copy from the GPU launched in them or in the
--   operator around them. The claim: those copies where exposed (busy_piece), and idle time that begins within the operations
--   (idle_piece). low 0.5, likely 0.9, high 1.
-- try: backend="nccl" for tensors on the GPU; Gloo is still right for tensors on the host.
-- references: https://docs.pytorch.org/docs/stable/distributed.html
-- fix: Communicate with {{ program.words.nccl }}: `dist.init_process_group(backend="nccl")`. If the program communicates host
--   tensors as well, use `"cpu:gloo,cuda:nccl"`. {{ worst.op }}{% if worst.bytes %} of {{ size(worst.bytes) }}{% endif %} goes
--   through the host: Gloo copies it from the GPU and back.
-- confidence: high
-- reason: Copies from the GPU are launched within Gloo's collectives.
-- wrong-if: The tensors belong on the host and are copied only because the program asks for it: then keep them there.
-- heading: Communicate GPU tensors with {{ program.words.nccl }}, not with Gloo
-- for: pytorch
-- needs: gpu, steps, launches
-- unknown: {% if not has('operators') and not has('annotations') %}the trace has no operators and no ranges, so it would not
--   show Gloo's collectives {%- endif %}
-- low: 0.5
-- likely: 0.9
-- high: 1.0
-- uses: idle, busy
-- categories: copy_d2h, copy_h2d, idle_communication, idle_launch, idle_os, idle_python, idle_sync
-- only-with: communication_name: trace_id = $trace_id and library = 'Gloo'
with
call as (
    select h.slice_id, h.thread_id, h.op, h.bytes, h.ts, h.ts + h.dur as ts_end
    from host_collective as h
    where h.trace_id = $trace_id and h.library = 'Gloo' and h.op <> 'barrier'
),

-- the operator that asks for it copies, before it or in it
around as (
    select c.slice_id, c.thread_id, c.op, c.bytes, coalesce(o.ts, c.ts) as ts, greatest(c.ts_end, coalesce(o.ts_end, 0)) as ts_end
    from call as c
    inner join cpu_slice as s on s.trace_id = $trace_id and s.slice_id = c.slice_id
    left join cpu_slice as o on o.trace_id = $trace_id and o.slice_id = s.operator_id
),

copied as (
    select b.step, b.ts, b.dur, b.name, b.slice_id, b.category, b.ledger_dur, a.slice_id as call_id, a.op, a.bytes
    from busy as b
    inner join cpu_slice as l on l.trace_id = b.trace_id and l.slice_id = b.launch_id
    asof inner join around as a on l.ts >= a.ts
    where b.category in ('copy_d2h', 'copy_h2d') and l.ts < a.ts_end
),

-- only what took something off the GPU
moved as (
    select *
    from around
    where slice_id in (select call_id from copied where category = 'copy_d2h')
),

late as (
    select p.step, p.ts, p.dur, p.cpu_slice_id, p.cause, p.gap_id
    from idle as p
    where p.cause in ('idle_communication', 'idle_launch', 'idle_python', 'idle_sync', 'idle_os')
)

select
    step, ts, dur, name, slice_id, ledger_dur as claimed, category as cause, null as gap_id, slice_id as busy_id, op, bytes
from copied
where call_id in (select slice_id from moved) and ledger_dur > 0
union all
select i.step, i.ts, i.dur, c.name, i.cpu_slice_id, least(i.dur, m.ts_end - i.ts), i.cause, i.gap_id, null, m.op, m.bytes
from late as i
asof inner join moved as m on i.ts >= m.ts
left join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = i.cpu_slice_id
where i.ts < m.ts_end
