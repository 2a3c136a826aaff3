-- Large copies that are much slower than the best of their kind in this trace, or than the link of the GPU for pinned memory: the time that
-- is too much.
-- title: Copies far below the link's bandwidth
-- finds: Large copies that are much slower than others of their kind in the same trace, or than the GPU's link allows.
-- matters: The same bytes would take a fraction of the time. What slows them down is mostly outside the program: memory on
--   another NUMA node, a slot with fewer or older lanes, several GPUs behind one switch that copy at once.
-- measured: Exposed copies of at least 1 MiB (below that, latency dominates) between host and device and between devices
--   (copy_overlap). The possible rate is the larger of best_bandwidth, the best of the same direction, memory and size class in
--   this trace, and, for pinned memory, 0.8 of the link's bandwidth, which is what copies reach in practice. Copies below 0.6
--   of that are found, and their excess exposed time is claimed. Low, likely and high share: 0.2, 0.6 and 1.
-- try: Pinned memory on the GPU's NUMA node, one large copy instead of several, a check of the PCIe slot.
-- references: https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#data-transfer-between-host-and-device
-- fix: {% if worst.link_bandwidth and not worst.is_pageable and worst.best_bandwidth < slow_share * worst.link_bandwidth %}Bind
--   the process to the NUMA node of its GPU: `numactl --cpunodebind=N --membind=N`. Even the best copy {{ {'h2d': 'to the
--   device', 'd2h': 'to the host'}.get(worst.direction, 'of that direction') }} of such size and memory reaches {{
--   gb_per_s(worst.best_bandwidth) }}, while this GPU's link carries {{ gb_per_s(worst.link_bandwidth) }}: {{
--   remedy('link_of_host') }}. {%- else %} {%- if worst.is_pageable %}{{ remedy('pin') }} {% endif %}Look for other copies at
--   the same time (GPUs behind one switch) and buffers on another NUMA node. The best of their kind reaches {{
--   gb_per_s(worst.best_bandwidth) }}, so the link is not the limit; `numactl --cpunodebind=N --membind=N` binds a process to a
--   node. {%- endif %} {{ copies() }}
-- confidence: medium
-- reason: Sizes and times are measured; what this machine's link can carry is not recorded.
-- wrong-if: A copy of this size is no faster on an otherwise idle machine (nvbandwidth).
-- heading: Speed up copies: use pinned memory, the nearest NUMA node, the full link
-- needs: gpu, steps
-- about: copies
-- low: 0.2
-- likely: 0.6
-- high: 1.0
-- down-to: limit
-- threshold: least_bytes = 1048576: at 1 MiB the latency of a copy (about 10 us) is below a quarter of its time on
--   PCIe 4; below it latency counts
-- threshold: link_share = 0.8: pinned copies reach about 80 % of what PCIe carries, the rest is its protocol (packet
--   headers, flow control)
-- threshold: slow_share = 0.6: pageable copies reach about half of pinned ones; the bound lies between that and what
--   copies of one size differ by
-- uses: counted_copy
-- only-with: counted_copy: copy_kind in ('h2d', 'd2h', 'p2p') and bytes >= $least_bytes and exposed > 0 and bandwidth < $slow_share * greatest(best_bandwidth, $link_share * link_bandwidth)
with
copy as (
    select
        c.slice_id, c.step, c.ts, c.dur, c.name,
        c.category, c.direction, c.bytes, c.bandwidth, c.best_bandwidth, c.link_bandwidth, c.is_pageable,
        c.exposed,
        greatest(
            c.best_bandwidth, if(c.is_pageable = false and c.copy_kind <> 'um', $link_share * c.link_bandwidth, null)
        ) as possible
    from counted_copy as c
    where
        c.copy_kind in ('h2d', 'd2h', 'p2p')
        and c.bytes >= $least_bytes
        and c.exposed > 0
)

select
    step, ts, dur, name, slice_id,
    exposed * (1 - bandwidth / possible) * _below(bandwidth, $slow_share * possible) as claimed,
    category as cause, slice_id as busy_id, direction, bytes, bandwidth, best_bandwidth, link_bandwidth,
    is_pageable
from copy
where bandwidth < $slow_share * possible
