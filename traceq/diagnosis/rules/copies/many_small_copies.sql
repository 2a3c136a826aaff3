-- Small copies between host and device, of which a step makes many: their own time, and what asking for them costs where the GPU waits
-- for just that.
-- title: Many small copies
-- finds: Ten or more copies of less than 64 KiB per step in one direction, and the cost of requesting each of them.
-- matters: A small copy takes a few microseconds whatever its size, and requesting it takes longer than the copy itself. A
--   single copy of everything costs about as much as one of them.
-- measured: Copies between host and device below 64 KiB (at a link's rate, that is less than the latency of one or two copies),
--   ten or more per step and direction (copy_overlap). Claimed are their exposed times and, of the launching gaps that end with
--   one, up to 20 us each, which is what PyTorch needs to request a copy. Reading single values (.item()) is left out: see
--   item-read. Low, likely and high share: 0.3, 0.7 and 0.9.
-- try: Pack what belongs together into one pinned buffer, copy once, and take views of it on the other side.
-- references: https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#data-transfer-between-host-and-device
-- fix: {{ remedy('pack_copies') }} {{ copies() }}
-- confidence: medium
-- reason: Number and sizes are measured; whether these copies can be combined is not known.
-- wrong-if: Each copy is needed before the next one can be made.
-- heading: Combine small copies
-- about: copies
-- unknown: {% if subject.is_window %}nothing marks steps, so the number of copies per step is not known; traceq.annotate marks
--   them {%- endif %}
-- low: 0.3
-- likely: 0.7
-- high: 0.9
-- threshold: small_bytes = 65536: 64 KiB take 2 to 5 us on PCIe 3 and 4: less than the latency of a copy or two
-- threshold: many = 10: ten or more each step are a loop; what a program hands over by name is a few tensors
-- threshold: ask_ns = 20000: what an operator of PyTorch and its launching call take on the host
-- uses: idle, counted_copy
-- categories: idle_launch, idle_launch_latency, idle_python
-- only-with: counted_copy: copy_kind in ('h2d', 'd2h') and bytes < $small_bytes and coalesce(position, 'other') not in ('item', 'checkpoint')
with
copy as (
    select c.slice_id, c.step, c.ts, c.dur, c.name, c.direction, c.bytes, c.bandwidth, c.category, c.exposed
    from counted_copy as c
    where
        c.copy_kind in ('h2d', 'd2h')
        and c.bytes < $small_bytes
        and coalesce(c.position, 'other') not in ('item', 'checkpoint')
    qualify count(*) over (partition by c.step, c.direction) >= $many
),

-- Of the wait before a copy no more than it takes to ask for one.
wait as (
    select
        p.step, p.ts, p.dur, c.name, c.slice_id,
        least(p.dur, greatest(0, $ask_ns - coalesce(sum(p.dur) over earlier, 0))) as claimed,
        p.cause,
        p.gap_id
    from idle as p
    inner join copy as c on c.slice_id = p.next_slice_id
    where p.cause in ('idle_launch', 'idle_python', 'idle_launch_latency')
    window earlier as (
        partition by p.gap_id order by p.cause rows between unbounded preceding and 1 preceding
    )
)

select
    step, ts, dur, name, slice_id, exposed as claimed, category as cause, null as gap_id, slice_id as busy_id,
    direction, bytes, bandwidth
from copy
where exposed > 0
union all
select step, ts, dur, name, slice_id, claimed, cause, gap_id, null as busy_id, null, null, null
from wait
where claimed > 0
