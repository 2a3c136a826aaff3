-- Small collectives that follow one another with no kernel launched between them, or that reduce gradients in small buckets.
-- title: Many small collectives
-- finds: Exposed collectives of less than 1 MiB that follow one another with no kernel between them, or that reduce gradients.
-- matters: A collective takes tens of microseconds before the first byte moves, however small it is. Many small ones pay that
--   many times; one large one pays it once.
-- measured: Slices of collective_slice below 1 MiB in the counted steps, at least 8 per step, where the same thread launched no
--   kernel between one and the next of the same operation and group (otherwise the next may need the kernel's result), or in
--   backward with at least 4 KiB. The claim is exposed time, but at most 100 us each: anything longer is waiting for other
--   ranks. low 0.3, likely 0.7, high 0.9: a few remain.
-- try: Larger gradient buckets; one collective for several tensors.
-- references: https://docs.pytorch.org/docs/stable/notes/ddp.html
--   https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/groups.html
-- fix: {{ remedy('join_gradients' if worst.phase == 'backward' and program.trains else 'join_messages') }} {{ described(facts) }}, {{
--   time(facts.dur) }} each (median), nearly all of it latency.
-- confidence: medium
-- reason: Sizes and times are in the trace; that the collectives can be joined is inferred: no kernel is launched between them,
--   or their results are needed only at the end of the pass.
-- wrong-if: Each collective needs the result of the one before it.
-- heading: Send many small messages as one large one
-- needs: gpu, steps, message_sizes, launches
-- about: communication
-- facts: collective_summary
-- low: 0.3
-- likely: 0.7
-- high: 0.9
-- threshold: small = 1048576: below 1 MiB a collective is latency, not bandwidth, on all links (nccl-tests); buckets
--   of DDP begin with 1 MiB
-- threshold: bucket = 4096: a page; gradients of less are counters and scales, which nothing packs
-- threshold: latency = 100000: a small collective takes tens of us within a node and up to about 100 between nodes
--   (nccl-tests); more is waiting for other ranks
-- threshold: fewest = 8: fewer than eight a step win nothing worth a bucket
-- uses: busy
-- categories: communication
with
slice as (
    select b.step, b.ts, b.dur, b.name, b.slice_id, b.ledger_dur, c.op, c.bytes, c.group_size, coalesce(c.group_name, '') as members,
        l.ts as launched, l.thread_id, p.phase
    from busy as b
    inner join collective_slice as c on c.trace_id = b.trace_id and c.slice_id = b.slice_id
    inner join cpu_slice as l on l.trace_id = b.trace_id and l.slice_id = b.launch_id
    left join launch_state as p on p.trace_id = b.trace_id and p.slice_id = b.slice_id
    where b.category = 'communication'
),

followed as (
    select
        *,
        lag(launched) over same as previous,
        lag(bytes < $small) over same as is_after_small,
        lead(launched) over same as next,
        lead(bytes < $small) over same as is_before_small
    from slice
    window same as (partition by op, members, thread_id, step order by launched, slice_id)
),

small as (
    select * from followed where bytes < $small
),

-- when the device's last kernel of another kind before each was launched, by the same thread
kernel as (
    select l.thread_id, l.ts
    from gpu_slice as g
    inner join cpu_slice as l on l.trace_id = g.trace_id and l.slice_id = g.launch_id
    where
        g.trace_id = $trace_id
        and g.device = $device
        and g.kind = 'kernel'
        and not g.is_communication
        and exists (select 1 from small)
),

before as (
    select s.*, k.ts as last_kernel
    from small as s
    asof left join kernel as k on k.thread_id = s.thread_id and s.launched > k.ts
),

around as (
    select
        *,
        coalesce(is_after_small and (last_kernel is null or last_kernel < previous), false) as joins_previous
    from before
),

run as (
    select
        *,
        coalesce(lead(joins_previous) over (partition by op, members, thread_id, step order by launched, slice_id), false) as joins_next
    from around
)

select
    step, ts, dur, name, slice_id,
    -- the time of a message this small is latency; what exceeds that is waiting for ranks
    least(ledger_dur, $latency) as claimed,
    'communication' as cause, slice_id as busy_id, op, bytes, group_size, phase
from run
where
    ledger_dur > 0
    and (joins_previous or joins_next or phase = 'backward' and op in ('all_reduce', 'reduce_scatter') and bytes >= $bucket)
qualify count(*) over () >= $fewest * count(distinct step) over ()
