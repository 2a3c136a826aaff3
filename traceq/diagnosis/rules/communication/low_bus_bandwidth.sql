-- Collectives whose bandwidth on the bus is far below what smaller ones of the same group reach: what they take longer for it.
-- title: Collectives slower than the link
-- finds: Collectives that move their bytes far slower than smaller ones of the same group do in the same trace.
-- matters: A larger message uses a link at least as well as a smaller one. Where it does not, it takes another
--   algorithm, another path, or its tensors are laid out so that they are copied first.
-- measured: bus_bandwidth of collective_slice (nccl-tests' definition), for all-reduce, all-gather and reduce-scatter
--   of at least 4 MiB (below, latency rules), in the counted steps. A class (group, operation, size) of at least 8 is
--   slow when its best is below half of the best of classes of the same group with no more bytes. Its best, not its
--   mean: the others also wait for late ranks. Claimed is what the best would take less at that bandwidth. low 0,
--   likely 0.4, high 0.9. Where the peak of the link is not known, a group whose collectives are all slow is not
--   found.
-- try: NCCL_DEBUG=INFO says which path each channel takes. NCCL_ALGO and NCCL_PROTO can be tried by hand; nccl-tests
--   measures the link.
-- references: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
--   https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
-- fix: {{ worst.op }} of {{ size(worst.bytes) }} among {{ worst.group_size }} ranks reaches at best
--   {{ short(worst.best_bandwidth) }} GB/s on the bus; smaller ones of the same group reach
--   {{ short(worst.reachable_bandwidth) }} GB/s. Run with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING and
--   compare the algorithm and channels chosen; all_reduce_perf -b {{ worst.bytes }} -e {{ worst.bytes }} of nccl-tests
--   measures it alone. Remove settings of NCCL_ALGO, NCCL_PROTO and NCCL_MAX_NCHANNELS that someone left in the
--   environment.
-- confidence: low
-- reason: Durations include waiting for other ranks: even the best of these may have waited.
-- wrong-if: These always wait for a late rank, or run beside compute that takes the memory bandwidth.
-- heading: Find out why collectives are slower than the link
-- needs: gpu, steps, message_sizes
-- about: communication
-- unknown: {% if not subject.present.bus_bandwidth %}{{ lacks('the process groups of collectives are not known', 'process_groups', 'bring them') }}
--   {%- endif %}
-- low: 0.0
-- likely: 0.4
-- high: 0.9
-- threshold: least = 4194304: at 4 MiB NCCL's latency (tens of us) is below a tenth of the transfer on any link of a
--   node, so that bandwidth is what is measured (nccl-tests)
-- threshold: far = 0.5: algorithms and protocols of NCCL differ by less than a factor of two at large sizes
--   (nccl-tests); below half something else is wrong
-- threshold: fewest = 8: the best of fewer may have waited for a late rank each time
-- uses: busy
-- categories: communication
with
slice as (
    select b.step, b.ts, b.dur, b.name, b.slice_id, b.ledger_dur, c.op, c.bytes, c.group_size, c.group_name, c.bus_bandwidth
    from busy as b
    inner join collective_slice as c on c.trace_id = b.trace_id and c.slice_id = b.slice_id
    where
        b.category = 'communication'
        and c.bus_bandwidth > 0
        and c.bytes >= $least
        and c.group_name is not null
        and c.op in ('all_reduce', 'all_gather', 'reduce_scatter')
),

-- the best of a class has waited least: that of a class where all wait says nothing of the link, so the class must have many
class as (
    select group_name, op, bytes, max(bus_bandwidth) as best, count(*) as number
    from slice
    group by group_name, op, bytes
),

reached as (
    select *, max(best) over (partition by group_name order by bytes range between unbounded preceding and current row) as reachable
    from class
)

select
    s.step,
    s.ts,
    s.dur,
    s.name,
    s.slice_id,
    -- only what its own best is slower than the bus: the rest is waiting for ranks
    least(s.ledger_dur, s.dur * (s.bus_bandwidth / r.best) * (1 - r.best / r.reachable)) as claimed,
    'communication' as cause,
    s.slice_id as busy_id,
    s.op,
    s.bytes,
    s.group_size,
    r.best as best_bandwidth,
    r.reachable as reachable_bandwidth
from slice as s
inner join reached as r on r.group_name = s.group_name and r.op = s.op and r.bytes = s.bytes
where r.best < $far * r.reachable and r.number >= $fewest and s.ledger_dur > 0
