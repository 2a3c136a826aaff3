-- How steps were found where nothing marks them, and the whole run beside; long ranges that repeat could mark them.
-- title: Steps are not marked
-- finds: Captures in which nothing marks the steps: one window is analysed as if it were a step, or steps were guessed from
--   recurring work.
-- matters: Per-step numbers need steps. With one window for everything, whatever happens in it is part of every share, and
--   there are no percentiles; guessed steps may begin in the middle of the program's real steps, or cover a part of one or
--   several.
-- measured: step.source is window or recurrence. Outermost ranges of one name that occur at least 3 times on one thread and
--   together last at least half of the analysed time could be steps, since steps leave little out.
-- try: traceq.annotate around the loop, profiler.step(), or --step-range with the name of a range, such as one of NVTX around
--   each iteration of a program in C++; --window if only a part of the run is of interest.
-- references: https://docs.pytorch.org/docs/stable/profiler.html
--   https://docs.nvidia.com/nsight-systems/UserGuide/index.html
-- remark: {% if facts.source == 'window' %}No steps were found, so the analysed window of {{ time(facts.traced_ns) }} {%- if
--   facts.run_ns %} ({{ percent(share_of(facts.traced_ns, facts.run_ns)) }} of the run){% endif %} counts as one step, with all
--   that happens in it. {%- else %}{{ facts.found }} steps were guessed from recurring work {%- if facts.steps %}; the {{
--   facts.steps }} that count take {{ time(facts.traced_ns / facts.steps) }} on average {%- endif %}. Where they begin is a
--   guess, and so is whether each is one step of the program. {%- endif %}
-- fix: Mark the loop: put `with traceq.annotate.step():` around each iteration {{- way('step_marks' if has('operators') or
--   has('python_frames') else 'native_step_marks') }}. {%- if facts.range is not none and facts.range | length <= longest_name
--   %} For this capture: if '{{ facts.range }}' ({{ facts.times }} times) is a step, traceq ingest --step-range {{
--   step_range(facts.range) }}. {%- endif %}
-- needs:
-- settings: longest_name=80
-- threshold: range_share = 0.5: steps leave little out: what covers less than half is not a step
-- remarks: yes
with
found as (
    select
        source,
        count(*) as number,
        sum(dur) as dur,
        count(*) filter (excluded is null) as counted,
        coalesce(sum(dur) filter (excluded is null), 0) as counted_dur
    from step
    where trace_id = $trace_id
    group by source
),

run as (
    select sum(dur)::bigint as dur
    from phase_of_run
    where trace_id = $trace_id
),

-- outermost ranges of one name, so that none counts twice
range as (
    select name, count(*) as times, sum(dur)::bigint as dur
    from cpu_slice
    where trace_id = $trace_id and kind = 'annotation' and annotation_id is null
    group by name, thread_id
    having count(*) >= 3 and sum(dur) >= $range_share * (select dur from found)
    order by sum(dur) desc, name
    limit 3
)

select
    f.source, f.number as found, f.counted as steps, f.counted_dur as traced_ns, run.dur as run_ns,
    r.name as range, r.times, r.dur as range_total_ns
from found as f
cross join run
left join range as r on true
where f.source in ('window', 'recurrence')
order by r.dur desc nulls last, r.name
