-- What torch.nn.DataParallel costs the critical device: replication, scattering and gathering, and idle time while its threads take turns.
-- title: torch.nn.DataParallel on several GPUs
-- finds: A model wrapped in torch.nn.DataParallel: one process that copies the model to all GPUs in every forward
--   pass, scatters the batch, and gathers the outputs on one of them.
-- matters: The threads that feed the GPUs share one interpreter, the parameters are broadcast in every step, and the first GPU
--   does more work and holds more data than the others. DistributedDataParallel avoids all of that: it runs one process per GPU
--   and reduces gradients during the backward pass.
-- measured: The ranges DataParallel.forward, Broadcast, Scatter, Gather and comm::broadcast (with their backward), where
--   kernels run on more than one GPU. The claim, on the critical device: exposed copies and communication launched in them
--   (busy_piece), and idle time of the launching thread in them (idle_piece). low 0.3, likely 0.7, high 1.
-- try: torchrun --nproc-per-node=N, init_process_group("nccl"), DistributedDataParallel, DistributedSampler.
-- references: https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html
--   https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html
-- fix: Run one process per GPU: `torchrun --nproc-per-node={{ facts.devices }} PROGRAM`. In the program, call
--   `dist.init_process_group("nccl")`, use `model = DistributedDataParallel(model.to(rank), device_ids=[rank])` instead of
--   `DataParallel(model)`, and load data with `DataLoader(..., sampler=DistributedSampler(dataset))`.
-- confidence: high
-- reason: The ranges of DataParallel are in the trace, and kernels run on several GPUs.
-- wrong-if: Something other than DataParallel uses these range names.
-- heading: Run one process per GPU: DistributedDataParallel
-- for: pytorch
-- unknown: {% if not has('operators') and not has('annotations') %}the trace has no operators and no ranges, so it does not
--   show whether DataParallel ran {%- endif %}
-- absent: {% set used = ask('data_parallel_used')[0] -%}
--   {% if not used.calls %}torch.nn.DataParallel did not run
--   {%- elif used.devices == 1 %}work ran on one GPU only
--   {%- endif %}
-- facts: data_parallel_used
-- low: 0.3
-- likely: 0.7
-- high: 1.0
-- uses: idle, busy
-- categories: communication, copy_d2h, copy_h2d, copy_other, idle_launch, idle_launch_latency, idle_python, idle_sync
with
part as (
    select thread_id, ts, max(ts_end) over (partition by thread_id order by ts, slice_id rows unbounded preceding) as ts_end, name
    from cpu_slice
    where
        trace_id = $trace_id
        and kind in ('op', 'annotation')
        and (
            name in ('DataParallel.forward', 'Scatter', 'ScatterBackward', 'Gather', 'GatherBackward', 'Broadcast', 'BroadcastBackward')
            or regexp_matches(name, '^(DataParallel.forward|(Scatter|Gather|Broadcast|ReduceAddCoalesced)(Backward)?(,|$)|comm::(broadcast|scatter|gather|reduce_add))')
        )
),

moving as (
    select b.step, b.ts, b.dur, b.name, b.slice_id, b.category, b.ledger_dur, l.thread_id, l.ts as launched
    from busy as b
    inner join cpu_slice as l on l.trace_id = b.trace_id and l.slice_id = b.launch_id
    where b.category in ('communication', 'copy_h2d', 'copy_d2h', 'copy_other') and b.ledger_dur > 0
),

late as (
    select step, ts, dur, cpu_slice_id, cause, gap_id, thread_id
    from idle
    where cause in ('idle_launch', 'idle_python', 'idle_sync', 'idle_launch_latency') and thread_id is not null
)

select
    b.step, b.ts, b.dur, b.name, b.slice_id, b.ledger_dur as claimed, b.category as cause, null as gap_id, b.slice_id as busy_id, p.name as part
from moving as b
asof inner join part as p on p.thread_id = b.thread_id and b.launched >= p.ts
where b.launched < p.ts_end
union all
select i.step, i.ts, i.dur, c.name, i.cpu_slice_id, least(i.dur, p.ts_end - i.ts), i.cause, i.gap_id, null, p.name
from late as i
asof inner join part as p on p.thread_id = i.thread_id and i.ts >= p.ts
left join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = i.cpu_slice_id
where i.ts < p.ts_end
