-- The training thread's time in communication, or in which it runs nothing while other threads of its process communicate.
-- title: Steps wait for other ranks
-- finds: Collectives of gloo or MPI that the training thread waits for, in traces without GPU activity: no operator runs, and
--   another thread of the process is in the collective, or the training thread itself is.
-- matters: The ranks compute first, then wait for each other and for the network, instead of doing both at once.
-- measured: Own time of the training thread in the counted steps in which it is in communication, or in no operator while
--   another thread of the process is in gloo:... or MPI_.... Shares: low 0.1, likely 0.5, high 1: the wait is for a slower rank
--   or for the network, and one trace does not show which; part of either remains.
-- try: Compare the ranks first (ingest all of them); larger batches or no_sync between updates; smaller gradients; a
--   faster interface (GLOO_SOCKET_IFNAME).
-- references: https://docs.pytorch.org/docs/stable/notes/ddp.html
--   https://docs.pytorch.org/docs/stable/distributed.html
-- heading: Find the late rank: {{ percent(claimed_share) }} of {% if subject.is_window %}the window{% else %}a step{% endif %}
--   is spent waiting for collectives
-- fix: {% if subject.rank is none or subject.world_size is none %}Compare this with the traces of the other ranks. {%- else
--   %}Ingest the traces of all {{ subject.world_size }} ranks into one database. {%- endif %} The rank that waits least is the
--   one that the others wait for. If all of them wait equally long, it is the network: choose its interface
--   (GLOO_SOCKET_IFNAME), send less and less often, and overlap it with other work. {{ remedy('gradients_less_often') if
--   program.trains else remedy('host_collective') }}
-- confidence: medium
-- reason: A collective runs on this thread or another one, and the main thread does nothing else; one trace does not show
--   whether a late rank or the network makes it take so long.
-- wrong-if: The main thread does work in that time that was not traced.
-- needs: steps, host_alone
-- low: 0.1
-- likely: 0.5
-- uses: host_time
select
    p.step, p.ts, p.dur, p.name, p.slice_id, p.dur as claimed, p.category as cause, p.piece_id as gap_id,
    if(p.category = 'communication', p.name, coalesce((
        select any_value(c.name order by c.ts)
        from cpu_slice as c
        inner join host_name as h on h.trace_id = c.trace_id and h.kind = c.kind and h.name = c.name
        where c.trace_id = $trace_id and h.activity = 'communication'
    ), 'communication')) as during
from host_time as p
where
    p.category = 'communication'
    or (p.elsewhere = 'communication' and p.category in ('annotation', 'python', 'none', 'os', 'synchronization'))
