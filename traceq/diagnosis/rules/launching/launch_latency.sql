-- Idle time between the end of a launching call and the start of its work.
-- title: GPU idle: launched work has not started
-- finds: Time in which nothing runs on the GPU although the call that launches the next work has returned: the launch
--   is on its way, the GPU switches from one kernel to the next, or the work waits for something the trace does not
--   tell.
-- matters: From a launch to its start it takes some 5 us, from a kernel to one queued behind it 1 to 2 us. With many
--   kernels that adds up; longer waits have another reason.
-- measured: The pieces of cause idle_launch_latency in the counted steps (idle_piece), all that no other rule owns;
--   nothing where most of it is in pieces below 2 us, for so much lies between any two kernels of a full queue. Pieces
--   of 100 us and more (twenty times a launch) are no latency of launches: the work waited for an event, a copy,
--   another stream, another process or a page, or for the GPU's clock or context. High 1: what the steps lose to it.
--   Likely 0.8, low 0.1: fewer and longer kernels take most of many short gaps away, and nothing is known of long
--   ones.
-- try: Many short gaps: CUDA graphs, fusion, a larger batch. Long ones: record what streams wait for
--   (_ExperimentalConfig(enable_cuda_sync_events=True); nsys --cuda-event-trace=true), and look at other processes on
--   this GPU.
-- references: https://developer.nvidia.com/blog/cuda-graphs/
--   https://docs.nvidia.com/nsight-systems/UserGuide/index.html
-- fix: {% if facts.long_share > most %}{{ percent(facts.long_share) }} of this time is in
--   {{ plural(facts.long_gaps, 'gap') }} of {{ long_ns // 1000 }} µs and more before work that had been launched
--   ({{ names(pieces[:2]) }}).
--     {%- if facts.graph_share > most %} {{ percent(facts.graph_share) }} of the time is inside or before
--     {{ plural(facts.graphs, 'CUDA graph') }}: between the nodes of a graph the host has no part, but copies, host
--     nodes and other streams of the graph have.
--     {%- endif %} Find out what it waits for
--     {%- if way('foreign_work') %}: {{ way('foreign_work') }} records the events that streams wait for
--     {%- endif %}. Look for stream.wait_event and wait_stream before it, for work of other processes on this GPU, and
--     for copies and collectives on other streams that it needs.
--   {%- else %}{{ plural(facts.gaps, 'gap') }}, {{ time(facts.median_ns) }} each as a rule: fewer and longer kernels
--   have fewer of them.
--     {%- if facts.graph_share > most %} {{ percent(facts.graph_share) }} of it is in graphs already.
--     {%- endif %} `torch.compile(model, mode="reduce-overhead")` fuses kernels and replays them as CUDA graphs; a
--     larger batch does more per kernel.
--   {%- endif %}
-- confidence: {% if facts.long_share > most %}low{% else %}high{% endif %}
-- reason: {% if facts.long_share > most %}Launched work waits longer than launches take; the trace does not say for
--   what.
--   {%- else %}Launches and starts are measured one by one.
--   {%- endif %}
-- wrong-if: {% if facts.long_share > most %}A capture with waits of streams names what the work waited for.
--   {%- else %}The clocks of host and GPU disagree by as much as these gaps are long.
--   {%- endif %}
-- heading: {% if facts.long_share > most %}GPU idle: launched work waits for something that was not traced
--   {%- endif %}
-- needs: gpu, steps, launches
-- facts: launch_latency_facts
-- low: 0.1
-- likely: 0.8
-- high: 1.0
-- threshold: shortest = 2000: between two kernels of a full queue lie 1 to 2 us
-- threshold: long_ns = 100000: twenty times a launch (5 us): the work waited for something else than being launched
-- threshold: most = 0.5: the larger part is of this kind
-- rest: yes
-- uses: idle
-- categories: idle_launch_latency
select
    p.step,
    p.ts,
    p.dur,
    g.name,
    p.next_slice_id as slice_id,
    p.dur as claimed,
    p.cause,
    p.gap_id,
    c.name as call,
    contains(coalesce(c.name, ''), 'GraphLaunch') as is_graph
from idle as p
left join gpu_slice as g on g.trace_id = p.trace_id and g.slice_id = p.next_slice_id
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.launch_slice_id
where
    p.cause = 'idle_launch_latency'
    -- less lies between any two kernels of a full queue
    and (
        select sum(dur) filter (dur >= $shortest) >= 0.5 * sum(dur)
        from idle
        where cause = 'idle_launch_latency'
    )
