-- Time in collectives beyond what they take when no rank comes late.
-- title: Collectives wait for a late rank
-- finds: Collectives of one rank that take longer than any network needs for so few bytes, or far longer than the fastest of their
--   class: they wait for a rank that is not in this trace.
-- matters: Neither a faster network nor overlap helps: the transfer is short, and the rank that comes last sets the time of all.
-- measured: Exposed time of collectives beyond their transfer (collective_transfer): the fastest of operation, group and size with 8 members
--   or more, else 1 ms and what 10 Gbit/s Ethernet takes. Low 0: if the late rank has the same trouble at another time, nothing is saved by
--   fixing this one. Likely: this rank waits for nobody. Does not run where other ranks are in the database: late-rank names the rank then.
-- try: Capture all ranks, and see which one comes last in these collectives and what it did before: input, checkpoints, a host that loses
--   its cores, uneven work.
-- references: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/index.html
--   https://docs.pytorch.org/docs/stable/distributed.html
-- fix: Ingest the traces of all ranks: `traceq ingest rank*`. The report then names the rank that comes last and what
--   it did. Here {{ plural(occurrences, 'collective') }} {% if occurrences == 1 %}waits{% else %}wait{% endif %} for
--   others: the longest, {{ worst.op or 'collective' }} of {{ size(worst.bytes) }}, takes {{ time(worst.dur) }},
--   where the transfer takes {{ time(worst.transfer_ns) }} at most. In one captured step the start of the profiler
--   alone may have set the ranks apart: capture several.
-- confidence: {% if subject.steps >= few_steps %}medium{% else %}low{% endif %}
-- reason: That these collectives wait is certain; which rank they wait for, and whether it always comes late, this trace of one rank does
--   not say.
-- wrong-if: A capture of all ranks shows that they start these collectives at the same time.
-- heading: Find the rank that comes late: collectives wait for it
-- needs: gpu, steps, message_sizes
-- about: communication
-- low: 0.0
-- likely: 1.0
-- threshold: few_steps = 3: fewer do not show whether it recurs
-- uses: busy
-- categories: communication
select
    b.step, b.ts, b.dur, b.name, b.slice_id,
    least(b.ledger_dur, b.dur - t.transfer) as claimed,
    b.category as cause, 'communication_waiting' as scenario, b.slice_id as busy_id, c.op, c.bytes,
    t.transfer as transfer_ns
from busy as b
inner join collective_slice as c on c.trace_id = b.trace_id and c.slice_id = b.slice_id
inner join collective_transfer as t on t.trace_id = b.trace_id and t.slice_id = b.slice_id
where b.category = 'communication' and b.ledger_dur > 0 and b.dur > t.transfer
    and not exists (
        from trace as o
        inner join trace as m on m.trace_id = $trace_id and o.run = m.run and o.trace_id <> m.trace_id
    )
