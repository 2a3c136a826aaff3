-- Idle time between the end of a launching call and the start of its work.
-- title: GPU idle: launched work has not started
-- finds: Time in which nothing runs on the GPU although the call that launches the next work has returned: the launch
--   is on its way, or the GPU is switching from one kernel to the next.
-- matters: It takes about 5 us from a launch to its start, and 1 to 2 us from a kernel to the one queued behind it.
--   With many kernels that adds up.
-- measured: The pieces of cause idle_launch_latency in the counted steps (idle_piece), all that no other rule owns;
--   nothing if most of it is in pieces below 2 us, because that much lies between any two kernels in a full queue.
--   Pieces of 100 us and more (twenty times a launch) are not launch latency: the work waited for something that was
--   not traced (idle-unattributed). High 1: what the steps lose to it. Likely 0.8, low 0.1: fewer and longer kernels
--   remove most of many short gaps.
-- try: CUDA graphs, fusion, a larger batch.
-- references: https://developer.nvidia.com/blog/cuda-graphs/
--   https://docs.nvidia.com/nsight-systems/UserGuide/index.html
-- fix: {{ remedy('launch_less') }} {{ plural(facts.gaps, 'gap') }}, typically {{ time(facts.median_ns) }} each: fewer
--   and longer kernels have fewer gaps. {%- if facts.graph_share > most %} {{ percent(facts.graph_share) }} of this
--   is already in graphs. {%- endif %}
-- confidence: high
-- reason: Launches and starts are measured one by one.
-- wrong-if: The clocks of host and GPU disagree by as much as the length of these gaps.
-- same-fix: fewer-launches
-- needs: gpu, steps, launches
-- facts: launch_latency_facts
-- low: 0.1
-- likely: 0.8
-- high: 1.0
-- threshold: shortest = 2000: between two kernels of a full queue lie 1 to 2 us
-- threshold: long_ns = 100000: twenty times a launch (5 us): the work waited for something else than being launched
-- threshold: most = 0.5: the larger part is of this kind
-- unknown: {% if subject.steps == 1 and subject.present.launches < few_launches %} {{-
--   plural(subject.present.launches, 'launch') }} in one step: too few to be worth reducing {%- endif %}
-- threshold: few_launches = 10: a loop launches hundreds of kernels a step; a handful cannot become fewer and longer
-- rest: yes
-- uses: idle
-- categories: idle_launch_latency
-- heading: Launch fewer and longer kernels
select
    p.step, p.ts, p.dur, g.name, p.next_slice_id as slice_id, p.dur as claimed, p.cause, p.gap_id,
    c.name as call,
    contains(coalesce(c.name, ''), 'GraphLaunch') as is_graph
from idle as p
left join gpu_slice as g on g.trace_id = p.trace_id and g.slice_id = p.next_slice_id
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.launch_slice_id
where
    p.cause = 'idle_launch_latency'
    and p.dur < $long_ns
    -- less lies between any two kernels of a full queue
    and (
        select sum(dur) filter (dur >= $shortest) >= 0.5 * sum(dur)
        from idle
        where cause = 'idle_launch_latency'
    )
