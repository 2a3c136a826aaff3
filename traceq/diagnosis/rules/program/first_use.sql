-- Idle time in calls that are slow because they are the first of their name: libraries, contexts and pools are set up in them.
-- title: First calls (warm-up) in the measured window
-- finds: CUDA and HIP calls that are the first of their name in the capture and take many times as long as later ones.
-- matters: The first call creates the context, loads libraries and fills pools, which can take seconds, once. It does not
--   matter in a loop that runs for hours, but it does in a short measurement or in a service's first request.
-- measured: Pieces of the idle causes that lie in calls (idle_piece), where the call is the first of its name in its process,
--   takes at least 1 ms, and 20 times the median of the later ones, if there are any. In captures of first calls (triage: cold)
--   also operators that run once, where they prepare launches for 1 ms and more; and a gap of 100 ms or more without a known
--   cause before the very first kernel. The rule applies only if no step recurs: otherwise warm-up steps are left out. Low 0.5,
--   likely 1, high 1.
-- try: Run the work once before the measured window; capture later steps.
-- references: https://docs.pytorch.org/docs/stable/notes/cuda.html
-- fix: Warm up: run the work once, and capture what follows. These calls are slow only the first time: {{ names(pieces[:3]) }},
--   {{ time(worst.longest_call_ns) }} at worst. {%- if program.is_server %} A server pays for them in its first request: send
--   it one at start-up. {%- endif %}
-- confidence: high
-- reason: Later calls with the same names are at least {{ times }} times as fast, or the call is made only once.
-- wrong-if: The program repeats these calls in every iteration.
-- heading: Warm up before measuring: the GPU waits for first calls
-- same-fix: code-loading
-- needs: gpu, steps, calls
-- absent: {% if not subject.is_window %}steps recur, and warm-up steps are already left out{% endif %}
-- low: 0.5
-- likely: 1.0
-- threshold: least_ns = 1000000: a hundred times what a call of the driver takes (1 to 10 us)
-- threshold: times = 20: far beyond the spread of one call's durations, which is within a few times its median
-- threshold: loading_ns = 100000000: a hundred milliseconds: loading libraries of kernels takes seconds, and nothing between two
--   launches of a loop as long
-- uses: idle
-- categories: idle_allocation, idle_compile, idle_launch, idle_sync, idle_unattributed
with
call as (
    select c.slice_id, c.name, c.ts, c.dur, t.pid
    from cpu_slice as c
    inner join thread as t using (trace_id, thread_id)
    where c.trace_id = $trace_id and c.kind = 'runtime'
),

first_call as (
    select name, pid, min_by(slice_id, {'ts': ts, 'slice_id': slice_id}) as slice_id
    from call
    group by name, pid
),

slow as (
    select f.slice_id
    from first_call as f
    inner join call as c on c.name = f.name and c.pid is not distinct from f.pid
    group by f.slice_id
    having
        max(c.dur) filter (c.slice_id = f.slice_id) >= $least_ns
        and max(c.dur) filter (c.slice_id = f.slice_id) >= $times * coalesce(median(c.dur) filter (c.slice_id <> f.slice_id), 0)
),

-- Operators without a second execution, in a capture of first calls: what they prepare takes microseconds later.
run_once as (
    select slice_id
    from cpu_slice
    where
        trace_id = $trace_id
        and kind = 'op'
        and operator_id is null
        and exists (from triage where trace_id = $trace_id and reason = 'cold')
    qualify count(*) over (partition by name) = 1
),

-- Before the first kernel of all a program loads libraries, of which profilers record nothing.
first_kernel as (
    select min_by(slice_id, {'ts': ts, 'slice_id': slice_id}) as slice_id
    from gpu_slice
    where trace_id = $trace_id and device = $device and kind in ('kernel', 'graph')
),

-- a gap may hold several calls: call_dur is the time in the one that it is named by
piece as (
    select p.step, p.ts, p.dur, c.name, c.slice_id, p.dur as claimed, p.cause, null as scenario, p.gap_id, p.slice_dur as call_dur
    from idle as p
    inner join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
    where
        p.cpu_slice_id in (from slow)
        or (p.cause = 'idle_launch' and p.dur >= $least_ns and c.slice_id in (from run_once))
    union all
    select p.step, p.ts, p.dur, 'before the first kernel, ' || g.name, g.slice_id, p.dur, p.cause, 'host_unrecorded', p.gap_id, p.dur
    from idle as p
    inner join first_kernel as f on f.slice_id = p.next_slice_id
    inner join gpu_slice as g on g.trace_id = p.trace_id and g.slice_id = p.next_slice_id
    where p.cause = 'idle_unattributed' and p.dur >= $loading_ns
)

select * exclude (call_dur), max(call_dur) over () as longest_call_ns
from piece
