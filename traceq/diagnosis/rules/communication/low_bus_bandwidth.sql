-- Collectives whose bandwidth on the bus is far below that of the link, or what smaller ones of the same group reach: what they take
-- longer for it.
-- title: Collectives slower than the link
-- finds: Collectives that move bytes far more slowly than the link between their GPUs could, or than smaller ones of the same
--   group in the same trace do.
-- matters: A larger message uses a link at least as well as a smaller one, and with large messages NCCL reaches most of the
--   link's bandwidth. If it does not, it uses another path (host memory, sockets) or algorithm, or the layout of its tensors
--   forces a copy first.
-- measured: bus_bandwidth of collective_slice (nccl-tests' definition), for all-reduce, all-gather and reduce-scatter of at
--   least 4 MiB (below that, latency dominates), in the counted steps. A class (group, operation, size) of at least 8 is slow
--   when its best is below half of the best of classes of the same group with no more bytes. Within a machine (collective_link)
--   it is slow when its best takes more than 4 times what the ring of NCCL needs by its latency and the bandwidth of the link,
--   and the group's take equally long each time: nine in ten at most 1.5 times the shortest of their class, of at least 4 in
--   all. Its best is compared, not its mean, because the others also wait for late ranks. The claim is how much less time the
--   best would take at that bandwidth. low 0, likely 0.4, high 0.9. Between machines, where the trace does not know the link, a
--   group whose collectives are all slow is not found.
-- try: NCCL_DEBUG=INFO says which path each channel takes. Try NCCL_ALGO and NCCL_PROTO by hand; nccl-tests (AMD: rccl-tests)
--   measures the link.
-- references: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
--   https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
--   https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md
-- fix: Find out which path {{ program.words.nccl }} takes: `NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH`. {{ worst.op }} of {{
--   size(worst.bytes) }} among {{ worst.group_size }} ranks reaches {{ gb_per_s(worst.best_bandwidth) }} on the bus at best; {%
--   if worst.link %}over {{ worst.link }} (at least {{ gb_per_s(worst.link_bandwidth) }} between these GPUs) it should reach
--   about {{ gb_per_s(worst.reachable_bandwidth) }}, and it takes the same time each time. In the log, P2P means direct, SHM
--   through host memory, and NET/Socket through the network stack. Usual reasons are NCCL_P2P_DISABLE or NCCL_SHM_DISABLE in
--   the environment, PCIe access control (ACS), an IOMMU that is not in pass-through mode, or a container with little shared
--   memory (--ipc=host). all_reduce_perf -b {{ worst.bytes }} -e {{ worst.bytes }} from {{ 'rccl-tests' if program.is_amd else
--   'nccl-tests' }} measures the link alone: if that is fast, another rank is late each time, and its trace shows why. {%- else
--   %}smaller ones of the same group reach {{ gb_per_s(worst.reachable_bandwidth) }}. Run with NCCL_DEBUG=INFO
--   NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING and compare the algorithms and channels it chooses; all_reduce_perf -b {{ worst.bytes
--   }} -e {{ worst.bytes }} from {{ 'rccl-tests' if program.is_amd else 'nccl-tests' }} measures the link alone. Unset any
--   NCCL_ALGO, NCCL_PROTO and NCCL_MAX_NCHANNELS left over in the environment. {%- endif %}
-- confidence: low
-- reason: Durations include waiting for other ranks, and even the best collective may have waited.
-- wrong-if: These collectives always wait for a late rank, or overlap compute that uses up the memory bandwidth.
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
-- threshold: slower_than_link = 4.0: NCCL reaches 70 to 90 % of a link with large messages (nccl-tests); a slot with half
--   of its lanes, or the way through host memory that PCIe without peer access takes, halves that each
-- threshold: steady = 1.5: transfers of the same bytes take the same time but for clocks and the compute beside them,
--   which cost less than half; ranks that come late do not come equally late
-- threshold: steady_fewest = 4: of two sizes twice each; fewer are alike by chance
-- threshold: ring_start = 8400: ns before the first step of a ring: NCCL's tuning model (src/graph/tuning.cc, baseLat,
--   protocol Simple, the slowest)
-- threshold: ring_step = 5700: ns of each step of a ring: as above (hwLat over PCIe; NVLink takes 3400)
-- uses: busy
-- categories: communication
-- only-with: collective_slice: trace_id = $trace_id and device = $device and bus_bandwidth > 0 and bytes >= $least and group_name is not null and op in ('all_reduce', 'all_gather', 'reduce_scatter')
with
slice as (
    select b.step, b.ts, b.dur, b.name, b.slice_id, b.ledger_dur, c.device, c.op, c.bytes, c.group_size, c.group_name, c.bus_bandwidth
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
    select
        device, group_name, group_size, op, bytes,
        max(bus_bandwidth) as best,
        count(*) as number,
        min(dur) as shortest,
        quantile_cont(dur, 0.9) as long,
        -- what each rank sends of such a message
        max(bus_bandwidth * dur) as sent,
        (group_size - 1) * if(op = 'all_reduce', 2, 1) as ring_steps
    from slice
    group by device, group_name, group_size, op, bytes
),

linked as (
    select
        c.*, l.link, l.bandwidth as link_bandwidth,
        $ring_start + c.ring_steps * $ring_step + c.sent / l.bandwidth as link_dur,
        max(c.long / c.shortest) over same <= $steady and sum(c.number) over same >= $steady_fewest as is_steady
    from class as c
    left join collective_link as l
        on l.trace_id = $trace_id and l.device = c.device and l.group_name = c.group_name and l.group_size = c.group_size
    window same as (partition by c.device, c.group_name)
),

reached as (
    select
        *,
        coalesce(is_steady and shortest > $slower_than_link * link_dur, false) as below_link,
        max(best) over (
            partition by device, group_name order by bytes range between unbounded preceding and current row
        ) as best_of_smaller
    from linked
),

slow as (
    select *, if(below_link, sent / link_dur, best_of_smaller) as reachable
    from reached
    where below_link or (best < $far * best_of_smaller and number >= $fewest)
)

select
    s.step, s.ts, s.dur, s.name, s.slice_id,
    -- only what its own best is slower than the bus: the rest is waiting for ranks
    least(s.ledger_dur, s.dur * (s.bus_bandwidth / r.best) * (1 - r.best / r.reachable))
    * if(r.below_link, 1, _below(r.best, $far * r.best_of_smaller)) as claimed,
    'communication' as cause, s.slice_id as busy_id, s.op, s.bytes, s.group_size, r.best as best_bandwidth,
    r.reachable as reachable_bandwidth,
    if(r.below_link, r.link, null) as link,
    if(r.below_link, r.link_bandwidth, null) as link_bandwidth
from slice as s
inner join slow as r on r.device = s.device and r.group_name = s.group_name and r.op = s.op and r.bytes = s.bytes
where s.ledger_dur > 0
