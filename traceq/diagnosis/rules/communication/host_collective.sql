-- Idle time in which the host was in a collective or barrier that runs on the host.
-- title: The GPU waits for other ranks (through the host)
-- finds: Time in which nothing runs on the GPU while the launching thread is within a collective or barrier that runs
--   on the host: Gloo, MPI, UCX, torch.distributed.barrier.
-- matters: Such a call lasts until the last rank arrives, and the GPU gets no new work until then. A barrier in every
--   step makes all ranks as slow as the slowest one in that step, even if nothing requires them to stay together.
-- measured: The pieces of cause idle_communication in the counted steps (idle_piece), with the operation from
--   host_collective. low 0.3, likely 0.8, high 1: a wait that is needed (for a late rank) moves to the next
--   collective; one that is not needed disappears.
-- try: Remove barriers from the step, or run them every N steps. Reduce metrics on the GPU with NCCL and
--   async_op=True, and read them later. Give all ranks the same work before the call: it lasts until the last one
--   arrives.
-- references: https://docs.pytorch.org/docs/stable/distributed.html
--   https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
-- fix: {% set name = (worst.name or '').lower() -%} {% if 'barrier' in name %}Take the barrier out of the step, or
--   call it only every N steps. {%- elif name.startswith(('mpi_init', 'mpi_finalize')) %}Look at the steps only: mark
--   them with `traceq.annotate`, or use `--step-range`. This wait is the start or the end of the job. {%- elif
--   name.startswith('mpi') %}Start the transfer without waiting: `MPI_Iallreduce`, or `MPI_Isend` and `MPI_Irecv`.
--   Launch the next GPU work, and call `MPI_Wait` just before the result is used. {%- else %}{{
--   remedy('host_collective') }} {%- endif %} The launching thread waits in {{ cut(worst.name) }}; the GPU idles up
--   to {{ time(worst.claimed) }} at a time.
-- confidence: high
-- reason: The thread that launches the GPU's next work was within this call while nothing ran on the GPU.
-- wrong-if: The call waits for a rank that is late anyway: then the next collective waits instead, and the late rank
--   is what to fix.
-- heading: Do not make the host wait for other ranks
-- needs: gpu, steps
-- low: 0.3
-- likely: 0.8
-- high: 1.0
-- rest: yes
-- uses: idle
-- categories: idle_communication
select p.step, p.ts, k.dur, c.name, k.slice_id, k.dur as claimed, p.cause, p.gap_id, h.library, h.op, h.bytes, c.dur as call_ns
from idle as p
inner join idle_culprit as k using (trace_id, gap_id, cause)
inner join cpu_slice as c on c.trace_id = k.trace_id and c.slice_id = k.slice_id
left join host_collective as h on h.trace_id = k.trace_id and h.slice_id = k.slice_id
where p.cause = 'idle_communication'
