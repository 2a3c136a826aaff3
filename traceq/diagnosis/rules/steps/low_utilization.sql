-- The idle time of the GPU by the length of its gaps: many small ones or few large ones, and what they mostly are.
-- title: The GPU is idle most of the time
-- finds: Steps in which the GPU is idle more than it is busy, and whether the idle time consists of a few long gaps or many
--   short ones.
-- matters: The two need different remedies. A long gap has one place in the program: a fetch, a checkpoint, a synchronization.
--   Thousands of short gaps do not: the host launches more slowly than the GPU computes, everywhere.
-- measured: Busy less than 50 % of the counted steps of the critical device (time_ledger; what TensorBoard's profiler calls
--   low). A gap is long if it takes at least 1 ms, and short below 100 µs (idle_gap): launching a kernel takes 5 to 50 µs. The
--   remark is made if gaps of one kind hold at least 60 % of the idle time; otherwise the findings are enough. Waiting for work
--   launched before the capture is left out. A capture that counts as a single step, including start-up, is not judged.
-- try: Long gaps: find out what the host does in the longest of them (idle_gap.cpu_slice_id) or, if the next work had already
--   been launched, what that waited for. Short gaps: fewer and larger kernels, CUDA graphs, torch.compile, a larger batch.
-- references: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
--   https://docs.nvidia.com/nsight-systems/UserGuide/index.html
-- remark: {% if facts.step_share > mostly_idle and subject.judges_idle %}{% set number = '{:,.3g}'.format(facts.gaps_per_step)
--   if facts.gaps_per_step < 100 else '{:,.0f}'.format(facts.gaps_per_step) -%} The GPU is busy {{ percent(1 -
--   facts.step_share) }} of the step. {{ percent(facts.idle_share) }} of its idle time is in {{ number }} gap{% if number !=
--   '1' %}s{% endif %} per step {% if facts.size == 'long' %}of 1 ms or more, {{ percent(facts.main_cause_share) }} of that is
--   {{ facts.main_cause }}; the longest takes {{ time(facts.longest_ns) }} ({% if subject.is_window %}{{
--   time(facts.longest_begins_ns) }} after the window's start{% else %}step {{ facts.longest_step }}, {{
--   time(facts.longest_begins_ns) }} after its start{% endif %}). {%- else %}shorter than
--   100 µs, {{ percent(facts.main_cause_share) }} of that is {{ facts.main_cause }}: there is no single place to fix. {%- endif
--   %} {%- endif %}
-- fix: {% if facts.size != 'long' %}{{ remedy('launch_less') }} {%- elif facts.main_cause == 'idle_launch_latency' %}The host
--   had already launched the work that ends most of these gaps, so faster launching would not shorten them. Find out what that
--   work waited for, such as an event, a collective of other ranks or another process{% if way('stream_events') %}; {{
--   way('stream_events') }} records events{% endif %}. {%- else %}Fix the few places where these gaps occur (see the findings);
--   faster launching would not shorten them. {%- endif %}
-- key: {{ facts.size }}-gaps
-- unknown: {% if subject.is_window %}there are no steps to compare with; mark them with traceq.annotate {%- endif %}
-- absent: {% if rows and subject.judges_idle and facts.step_share > mostly_idle and (facts.idle_share < 0.6 or facts.size ==
--   'medium') %}the GPU is idle {{ percent(facts.step_share) }} of the step, in gaps of very different lengths; the findings
--   name their causes {%- endif %}
-- threshold: mostly_idle = 0.5: busy for less than half: what TensorBoard's profiler calls low
-- threshold: micro_ns = 100000: launching a kernel takes 5 to 50 us with the operator around it; below twice that a
--   gap is one of launching
-- threshold: macro_ns = 1000000: twenty operators and more: the host does something else than launching
-- remarks: yes
-- uses: counted
with
gap as (
    select
        g.gap_id, g.step, g.ts, g.dur,
        case
            when g.dur < $micro_ns then 'short'
            when g.dur < $macro_ns then 'medium'
            else 'long'
        end as size
    from idle_gap as g
    inner join counted using (step)
    where
        g.trace_id = $trace_id
        and g.device = $device
        -- the GPU still computes what was launched before the capture
        and g.gap_id not in (
            select gap_id from idle_gap_cause where trace_id = $trace_id and device = $device and cause = 'idle_earlier_work'
        )
),

cause as (
    select g.size, c.cause, sum(c.dur) as dur
    from gap as g
    inner join idle_gap_cause as c on c.trace_id = $trace_id and c.gap_id = g.gap_id
    group by g.size, c.cause
),

total as (
    select sum(dur) as dur
    from time_ledger
    inner join counted using (step)
    where trace_id = $trace_id and device = $device and category <> 'idle_earlier_work'
)

select
    g.size,
    count(*) / (select count(*) from counted) as gaps_per_step,
    (sum(g.dur) / (select count(*) from counted))::bigint as idle_per_step_ns,
    sum(g.dur) / sum(sum(g.dur)) over () as idle_share,
    sum(sum(g.dur)) over () / any_value(t.dur) as step_share,
    max(g.dur) as longest_ns,
    min_by(g.step, {'dur': -g.dur, 'ts': g.ts}) as longest_step,
    min_by(g.ts - s.ts, {'dur': -g.dur, 'ts': g.ts}) as longest_begins_ns,
    any_value(c.cause) as main_cause,
    any_value(c.dur) / sum(g.dur) as main_cause_share
from gap as g
inner join (
    select size, min_by(cause, {'dur': -dur, 'cause': cause}) as cause, max(dur) as dur
    from cause
    group by size
) as c using (size)
inner join step as s on s.trace_id = $trace_id and s.step = g.step
cross join total as t
group by g.size
order by idle_per_step_ns desc, g.size
