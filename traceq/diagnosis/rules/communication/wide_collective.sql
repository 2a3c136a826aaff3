-- Exposed collectives of 32-bit floating-point numbers: half of what they need for their bytes.
-- title: Collectives send 32-bit values
-- finds: Collectives of 32-bit floating-point numbers that run while no compute does, where sending half the bytes saves
--   more than starting them earlier would.
-- matters: The time of a large message is proportional to its bytes. Large models exchange 16-bit numbers, and can
--   still add them up in 32 bits.
-- measured: Slices of collective_slice whose element type is known as 32-bit floating point, by the source's
--   description, the shapes around their launch, or the name of the kernel, in the counted steps. The claim is half
--   of their exposed time, counting no more per collective than the shortest of its kind takes (operation, group,
--   size; of at least 3): the rest is waiting for late ranks. The rule runs only where the replay saves more by
--   halving the bytes (communication_half) than by hiding them (communication_overlap); otherwise the rules on
--   overlap apply. low 0, likely 0.95, high 1: converting reads and writes each number once, in memory about 20 times
--   as fast as a link; even the shortest may have waited.
-- try: Send 16-bit numbers, and compare the results over a few hundred steps.
-- references: https://docs.pytorch.org/docs/stable/ddp_comm_hooks.html
--   https://docs.pytorch.org/torchrec/
-- fix: {{ remedy('exchange_16_bits' if worst.op == 'all_to_all' else 'send_16_bits') }} {{ overlapped(facts) }}{{
--   late_device() }} The largest is {{ worst.op }}{% if worst.bytes %} of {{ size(worst.bytes) }}{% endif %}, {{
--   time(worst.dur) }}.
-- confidence: low
-- reason: The trace has the types, and the shortest collective of a kind is an upper limit on what its bytes take; it
--   may have waited, too.
-- wrong-if: Most of the time is spent waiting for a late rank, or the results need the lower bits.
-- heading: Send half the bytes: run collectives in 16 bits
-- needs: gpu, steps
-- about: communication
-- facts: collective_summary
-- low: 0.0
-- likely: 0.95
-- high: 1.0
-- threshold: fewest = 3: one a step of the fewest that count as several; the shortest of fewer may have waited each time
-- uses: busy
-- categories: communication
with
hidden as (
    select
        max(coalesce(saved, (saved_low + saved_high) / 2)) filter (scenario = 'communication_half') as by_half,
        max(coalesce(saved, (saved_low + saved_high) / 2)) filter (scenario = 'communication_overlap') as by_overlap
    from replay
    where trace_id = $trace_id
),

-- what the bytes take, if one of its kind waited for nobody
shortest as (
    select op, group_name, bytes, min(dur) as transfer
    from collective_slice
    where trace_id = $trace_id and device = $device
    group by op, group_name, bytes
    having count(*) >= $fewest
)

select
    b.step, b.ts, b.dur, b.name, b.slice_id,
    least(b.ledger_dur, t.transfer) / 2 as claimed,
    b.category as cause, 'communication_half' as scenario, b.slice_id as busy_id, c.op, c.bytes, c.group_size,
    c.overlapped as overlapped_ns, t.transfer
from busy as b
inner join collective_slice as c on c.trace_id = b.trace_id and c.slice_id = b.slice_id
left join collective as d on d.trace_id = b.trace_id and d.slice_id = b.slice_id
inner join shortest as t on t.op is not distinct from c.op and t.group_name is not distinct from c.group_name and t.bytes is not distinct from c.bytes
cross join hidden as h
where
    b.category = 'communication'
    and b.ledger_dur > 0
    and h.by_half > h.by_overlap
    and (lower(d.dtype) in ('float', 'float32', 'f32', 'fp32', 'ncclfloat32', 'c10::float') or d.dtype is null and regexp_matches(b.name, '(?i)reduce(scatter)?_(\w+_)?(float|f32)(_|\(|$)'))
