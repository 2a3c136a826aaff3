-- Ranges in which the GPU is idle and nobody knows of work on the host: what of each gap lies in the range around its cause.
-- title: A marked range without GPU or host work
-- finds: Ranges (annotations, phases) in which the GPU is idle nearly all the time while the host does nothing that was
--   recorded either: a sleep, a barrier, a lock, a log being written.
-- matters: Time that uses no resource is wasted. Removing it shortens the step by all of it, which is more than tuning the rest
--   can do.
-- measured: Pieces of the causes idle_python, idle_os and idle_unattributed (idle_piece) whose host slice lies in the range,
--   cut to the range. At least 80 % of the range must be such time (the rest is entering and leaving it), and the ranges of one
--   name must take at least 5 % of the counted steps. The mark of the step itself is left out. Low share 0.5, likely and high
--   1: the range may be needed, but can then be done elsewhere.
-- try: Remove it; do it every N steps; do it in a separate thread or process. If the host really computes in it (pure Python
--   leaves no record without stacks), move that off the training thread.
-- references: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
--   https://docs.nvidia.com/nsight-systems/UserGuide/index.html
-- fix: Remove the range '{{ cut(worst.name) }}', or run it rarely or on a separate thread. {% if program.language == 'python'
--   %}For instance `concurrent.futures.ThreadPoolExecutor(1).submit(...)`. {% endif %}It takes {{ percent(worst.range_share) }}
--   of the steps ({{ worst.ranges }} times, {{ time(worst.range_ns) }} for the longest) while GPU and host are idle; a sleep, a
--   barrier or a log would look like this.
-- confidence: {% if worst.waits %}medium{% else %}low{% endif %}
-- reason: {% if worst.waits %}The host waits in {{ cut(worst.inside) }} during the range. {%- else %}Nothing that was recorded
--   works in the range, but {%- if program.launches_from_python %} Python without stacks {%- else %} code outside calls {%-
--   endif %} leaves no record. {%- endif %}
-- wrong-if: A capture with {% if program.launches_from_python %}Python stacks or {% endif %}system calls shows work within the
--   range.
-- heading: Take range '{{ cut(worst.name) }}' out of the loop: neither GPU nor host works in it
-- needs: gpu, steps, annotations
-- low: 0.5
-- threshold: idle_share = 0.8: the rest is entering and leaving the range
-- threshold: step_share = 0.05: a range of less is not worth taking out of the step
-- uses: idle
-- categories: idle_os, idle_python, idle_unattributed
with
piece as (
    select
        p.step, p.gap_id, p.cause, p.ts,
        if(c.kind = 'annotation', c.slice_id, c.annotation_id) as range_id,
        sum(k.dur)::bigint as claimed,
        max_by(if(c.kind in ('os', 'python'), c.name, null), {'dur': k.dur, 'slice_id': c.slice_id}) as inside
    from idle as p
    inner join idle_culprit as k using (trace_id, gap_id, cause)
    inner join cpu_slice as c on c.trace_id = k.trace_id and c.slice_id = k.slice_id
    where p.cause in ('idle_python', 'idle_os', 'idle_unattributed')
    group by all
),

ranged as (
    select p.*, a.name, a.dur as range_dur
    from piece as p
    inner join cpu_slice as a on a.trace_id = $trace_id and a.slice_id = p.range_id
    -- the mark of the step itself is no part of it
    where (a.name, a.ts) not in (select (name, ts) from step where trace_id = $trace_id and excluded is null)
),

kept as (
    select
        *,
        max(range_dur) over (partition by range_id) as one_range,
        sum(claimed) over (partition by range_id) as idle_in_range
    from ranged
),

named as (
    select *, sum(claimed) over (partition by name) as claimed_by_name, count(distinct range_id) over (partition by name) as ranges
    from kept
    where idle_in_range >= $idle_share * one_range
)

select
    n.step, n.ts, n.claimed as dur, n.name, n.range_id as slice_id, n.claimed, n.cause, n.gap_id,
    n.inside,
    coalesce(regexp_matches(
        n.inside,
        '(?i)sleep|\bpoll|\bp?select\b|futex|wait|barrier|mutex_lock|\bsem_|acquire|\bflock|fsync|\brecv'
    ), false) as waits,
    n.range_dur as range_ns,
    n.ranges,
    n.claimed_by_name / (select total from step_stats where trace_id = $trace_id) as range_share
from named as n
where n.claimed > 0 and n.claimed_by_name >= $step_share * (select total from step_stats where trace_id = $trace_id)
