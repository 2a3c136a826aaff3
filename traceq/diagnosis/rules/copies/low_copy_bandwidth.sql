-- Large copies that are much slower than the best of their kind in this trace, or than the link of the GPU for pinned memory: the time that
-- is too much.
-- confidence: medium
-- reason: Sizes and times are facts; what the link of this machine can carry is not recorded.
-- wrong-if: A copy of this size, alone on the machine (nvbandwidth), is no faster.
-- needs: gpu, steps
-- about: copies
-- low: 0.2
-- likely: 0.6
-- high: 1.0
-- settings: least_bytes=1048576, link_share=0.8, slow_share=0.6
-- uses: counted_copy
with
copy as (
    select
        c.slice_id,
        c.step,
        c.ts,
        c.dur,
        c.name,
        c.category,
        c.direction,
        c.bytes,
        c.bandwidth,
        c.best_bandwidth,
        c.link_bandwidth,
        c.is_pageable,
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
    step,
    ts,
    dur,
    name,
    slice_id,
    exposed * (1 - bandwidth / possible) as claimed,
    category as cause,
    slice_id as busy_id,
    direction,
    bytes,
    bandwidth,
    best_bandwidth,
    link_bandwidth,
    is_pageable
from copy
where bandwidth < $slow_share * possible
