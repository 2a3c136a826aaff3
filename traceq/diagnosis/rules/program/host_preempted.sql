-- Time that GPUs lose because a thread that launches stood still in calls that take microseconds: it had no core.
-- title: The launching thread is descheduled: it does not get a CPU core
-- finds: Stretches of milliseconds without any event on the launching thread, in calls that only look at a tensor's shape,
--   record an event, or otherwise take microseconds: the operating system ran something else in that time.
-- matters: Neither a faster GPU nor a compiler helps a thread that is not running. Every later kernel is delayed, and in a job
--   of several ranks all the others wait in the next collective for the rank that stands still.
-- measured: host_stall: stretches between two boundaries of slices of a launching thread, of 1 ms and more, in the operator or
--   call itself, in which such a stretch takes 50 us at most and a twentieth of it at most (median of the slices of its name,
--   at least 10), or between the same two neighbours (at least 5). Not counted are first calls of a name, stretches outside of
--   calls in which another launching thread of the process begins something (then this one has no work), launches of kernels
--   that are new or wait for room in the queue, calls that by nature wait, allocate, copy or load, functions that Python calls
--   but that are not written in Python, and whatever happens in ranges of input, saves and compilation. Time between operators,
--   or in Python functions, counts only if calls stand still at least half as often in proportion to their time: garbage
--   collection or the program's own Python does not stop calls. Where scheduler and calls of the operating system are recorded,
--   a thread without a core that is in no such call also stands still. The claim is what a GPU lost in it (stall_cost): idle
--   time, and the time of collectives beyond their transfer. Confidence is high if at least three of these calls have names of
--   calls that do almost nothing, or if the starts or ends follow a scheduler's period (1, 4, 10 or 100 ms, over ten periods
--   and more; Rayleigh's test, 1 % in all). Low: the other ranks are still as late as before. Likely: they have the same
--   problem and it is fixed for them as well. High: no thread stands still.
-- try: As many cores as working threads (launching thread, autograd thread, loader workers, OMP_NUM_THREADS, for every process
--   on the node); no CPU quota on the container; processes bound to the cores and memory of their GPU's NUMA node.
-- references: https://docs.kernel.org/scheduler/sched-bwc.html
--   https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#utilize-non-uniform-memory-access-numa-controls
-- fix: Give every process on the node its own cores. The launching thread stands still {{ plural(facts.stalls, 'time') }},
--   typically for {{ time(facts.median_ns) }}, for {{ time(facts.longest_ns) }} at most, {{ of_step(facts.stalled_ns / steps)
--   }} in all, in calls that normally take microseconds: {% for row in rows[:3] -%} {{ row.name | cut }} {{ time(row.stall_ns)
--   }} {%- if row.usual_ns is not none %} (usually {{ time(row.usual_ns) }}) {%- endif %}{% if not loop.last %}, {% endif %}
--   {%- endfor %}. {%- if facts.beat_ns %} These stretches {{ facts.beats }} at a beat of {{ time(facts.beat_ns) }} {%- if
--   facts.beat_ns >= quota_ns %}, the period of a container's CPU quota{% else %}, as the ticks of a scheduler do {%- endif %}.
--   {%- endif %} {%- if facts.communication_share > of_others %} {{ percent(facts.communication_share) }} of the cost is in
--   collectives: there the GPU waits for other ranks while this thread stands still, so fix all processes on the node. {%-
--   endif %} Count the cores (`nproc`; in a container `cat /sys/fs/cgroup/cpu.max`, and `nr_throttled` in cpu.stat) and compare
--   with the threads: {{ remedy('count_threads') }} Raise the quota, and bind each process: `numactl --cpunodebind=N
--   --membind=N PROGRAM` with the GPU's NUMA node (`{{ 'amd-smi topology' if program.is_amd else 'nvidia-smi topo -m' }}`).
-- confidence: {% if facts.nothing >= nothing_calls or facts.beat_ns %}high{% else %}medium{% endif %}
-- reason: {% if facts.nothing >= nothing_calls %}The thread stood still {{ plural(facts.nothing, 'time') }} in a call that does
--   nothing that could take long ({{ facts.nothing_name | cut }}). {%- elif facts.beat_ns %}The stretches follow a scheduler's
--   period. {%- else %}The calls normally take a small fraction of that; the trace does not show what ran instead. {%- endif %}
-- wrong-if: The process is hardly ever preempted: nonvoluntary_ctxt_switches in /proc/PID/task/TID/status does not grow while
--   the loop runs.
-- heading: Give processes their own cores: the launching thread stands still
-- needs: gpu, steps, launches
-- facts: host_preempted_facts
-- low: 0.5
-- likely: 1.0
-- high: 1.0
-- threshold: least_share = 0.03: what systems where nothing competes lose to the operating system is below that, 1 to 2.5 % (Petrini
--   et al., The Case of the Missing Supercomputer Performance, SC'03)
-- threshold: least_stalls = 5: fewer stretches show no pattern; a page fault, an interrupt or a lock explains each of them
-- threshold: least_rate = 0.5: a core that is taken away is missed everywhere alike; half allows for chance
-- threshold: nothing_calls = 3: one or two may be a page fault at a place where nobody expects it
-- uses: idle, busy, counted
-- threshold: of_others = 0.1: of the cost: less is the end of a collective that was under way
-- threshold: quota_ns = 100000000: the default period of the CPU controller of cgroups (cpu.max: 100 ms)
-- only-with: step_stats: trace_id = $trace_id and (select sum(dur) from stall_cost where trace_id = $trace_id) >= $least_share * total
with
stall as (
    select h.*
    from host_stall as h
    asof inner join step as s on s.trace_id = h.trace_id and h.ts >= s.ts
    where h.trace_id = $trace_id and s.excluded is null and h.ts < s.ts_end
),

-- How much of the training thread's time in calls, and between them, it stands still.
rate as (
    select
        sum(l.dur) filter (l.category in ('operator', 'launch')) as in_calls,
        sum(l.dur) filter (l.category in ('annotation', 'none')) as between_calls,
        sum(l.dur) filter (l.category = 'python') as in_python,
        coalesce((select sum(dur) from stall where place = 'call' and thread_id = any_value(l.thread_id)), 0) as stalled_in_calls,
        coalesce((select sum(dur) from stall where place = 'between' and thread_id = any_value(l.thread_id)), 0) as stalled_between,
        coalesce((select sum(dur) from stall where place = 'python' and thread_id = any_value(l.thread_id)), 0) as stalled_in_python
    from host_ledger as l
    inner join counted using (step)
    where l.trace_id = $trace_id
),

believed as (
    select s.*
    from stall as s
    cross join rate as r
    where
        case s.place
            when 'between' then r.stalled_in_calls / nullif(r.in_calls, 0) >= $least_rate * r.stalled_between / nullif(r.between_calls, 0)
            when 'python' then r.stalled_in_calls / nullif(r.in_calls, 0) >= $least_rate * r.stalled_in_python / nullif(r.in_python, 0)
            else true
        end
),

cost as (
    select b.stall_id, b.slice_id, b.dur as stall_ns, b.usual as usual_ns, b.does_nothing, b.place, c.cause, c.gap_id, c.slice_id as busy_id, c.dur as claimed
    from believed as b
    inner join stall_cost as c on c.trace_id = $trace_id and c.stall_id = b.stall_id
),

piece as (
    select p.step, p.ts, c.*
    from cost as c
    inner join idle as p on p.gap_id = c.gap_id and p.cause = c.cause
    union all
    select p.step, p.ts, c.* replace (least(c.claimed, p.ledger_dur) as claimed)
    from cost as c
    inner join busy as p on p.slice_id = c.busy_id and p.category = c.cause
)

select
    p.step, p.ts, p.claimed as dur,
    coalesce(s.name, 'between calls') as name,
    p.slice_id, p.claimed, p.cause, p.gap_id, p.busy_id, 'host_preempted' as scenario, p.stall_id, p.stall_ns,
    p.usual_ns, p.does_nothing
from piece as p
left join cpu_slice as s on s.trace_id = $trace_id and s.slice_id = p.slice_id
where
    (select sum(claimed) from piece) >= $least_share * (select total from step_stats where trace_id = $trace_id)
    and (select count(distinct stall_id) from piece) >= $least_stalls
