-- Communication with no compute beside it.
-- title: Exposed communication
-- finds: Communication during which the GPU computes nothing, and that no more specific rule explains.
-- matters: The GPU's arithmetic units sit idle while bytes move, or while the rank waits for others to arrive.
-- measured: The exposed time of all slices in collective_slice, in the counted steps. low 0, likely 0.3, high 1:
--   compute may not have been ready (then the step waits for the host or for data), and part of the time is waiting
--   for other ranks. In a trace of several GPUs, a GPU that spends at most 0.75 of the time in as many collectives is
--   named: the others wait for it.
-- try: Start it earlier and wait for it later (async_op=True), on its own stream; send less, less often, or in one
--   go; compare the ranks to see which one is late.
-- references: https://docs.pytorch.org/docs/stable/distributed.html
--   https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/index.html
-- fix: {{ remedy('start_early') }} {{ overlapped(facts) }}{{ late_device() }} The longest is {{ cut(worst.name) }}.
--   Ingest the traces of all ranks into one database (traceq ingest rank*) to see whether it waits for a late rank.
-- confidence: {% if facts.knows_blocking %}medium{% else %}low{% endif %}
-- reason: The trace shows that the GPU computes nothing in this time, but not that compute was ready to run.
-- wrong-if: Compute was not ready either: then the step waits for the host or for input, and hiding the communication
--   gains nothing.
-- heading: Start communication earlier, and wait later
-- needs: gpu, steps
-- about: communication
-- facts: collective_summary
-- low: 0.0
-- likely: 0.3
-- high: 1.0
-- rest: yes
-- uses: busy
-- categories: communication
select b.step, b.ts, b.dur, b.name, b.slice_id, b.ledger_dur as claimed, b.category as cause, 'communication_overlap' as scenario, b.slice_id as busy_id, c.op, c.bytes,
    c.group_size, c.overlapped as overlapped_ns, c.blocking as blocking_ns
from busy as b
inner join collective_slice as c on c.trace_id = b.trace_id and c.slice_id = b.slice_id
where b.category = 'communication' and b.ledger_dur > 0
