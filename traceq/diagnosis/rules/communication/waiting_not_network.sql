-- Time in collectives beyond what they take when no rank comes late.
-- title: Collectives wait for a late rank
-- finds: Collectives on one rank that take longer than any network needs for so few bytes, or far longer than the fastest of
--   their class. They wait for a rank that is not in this trace.
-- matters: Neither a faster network nor overlap helps: the transfer is short, and the last rank to arrive sets the time for
--   all.
-- measured: Exposed time of collectives beyond their transfer (collective_transfer): the fastest of the same operation, group
--   and size if there are 8 or more, otherwise 1 ms plus what 10 Gbit/s Ethernet takes. Low 0: if the ranks take turns at being
--   late, fixing one saves nothing. Likely: this rank waits for nobody. The rule does not run if other ranks are in the
--   database: then late-rank names the late rank.
-- try: Capture all ranks, and see which one comes last to these collectives and what it did before: input, checkpoints, a host
--   that loses its cores, uneven work.
-- references: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/index.html
--   https://docs.pytorch.org/docs/stable/distributed.html
-- fix: Ingest the traces of all ranks: `traceq ingest rank*`. The report then names the rank that comes last and says what it
--   did. Here {{ plural(occurrences, 'collective') }} {% if occurrences == 1 %}waits{% else %}wait{% endif %} for other ranks.
--   The longest, {{ worst.op or 'collective' }} of {{ size(worst.bytes) }}, takes {{ time(worst.dur) }}; the transfer itself
--   takes {{ time(worst.transfer_ns) }} at most. With a single captured step, starting the profiler may be what set the ranks
--   apart: capture several.
-- confidence: {% if subject.steps >= few_steps %}medium{% else %}low{% endif %}
-- reason: It is certain that these collectives wait. A trace of one rank does not show which rank they wait for, or whether it
--   is always late.
-- wrong-if: A capture of all ranks shows that they start these collectives at the same time.
-- heading: Find the late rank: collectives wait for it
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
