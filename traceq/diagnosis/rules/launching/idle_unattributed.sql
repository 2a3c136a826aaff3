-- Idle time whose cause the trace does not hold, by what is known of it.
-- title: The GPU idles, and the capture does not say why
-- finds: Time in which nothing runs on the GPU and the trace does not show why: nothing was recorded on the launching
--   thread, the launch call is not in the trace, or launched work waited for something that was not traced.
-- matters: It costs as much as any other idle time; only its cause is missing. It is shown separately, never spread
--   over other causes, and never counted as a saving.
-- measured: The pieces of cause idle_unattributed in the counted steps (idle_piece), and those of idle_launch_latency
--   of 100 us and more, twenty times what a launch takes. The remark is made if it is at least 1 % of the step.
-- try: Capture more: the runtime API, ranges (traceq.annotate), Python stacks (with_stack=True), system calls (nsys
--   --trace=osrt), CPU samples (nsys --sample=process-tree), events that streams wait for.
-- references: https://docs.nvidia.com/nsight-systems/UserGuide/index.html
-- remark: {% set idle = rows | sum(attribute='idle_ns') -%} {% if idle >= least * subject.step_ns and
--   (subject.ledger.get('idle_unattributed') or subject.ledger.get('idle_launch_latency')) -%} The GPU idles {{
--   per_step(idle) }} ({{ percent(idle / subject.step_ns) }}), and this capture does not show why: {%- for row in
--   rows %} {{ time(row.idle_ns) }} in {{ plural(row.gaps_per_step | round(1), 'gap') }} {%- if row.cause ==
--   'idle_launch_latency' %} before work that was already launched (the longest before {{ row.longest | cut }}) {%-
--   else %} in which nothing was recorded on the launching thread, the longest {{ time(row.longest_ns) }} {%- endif
--   %}{% if not loop.last %},{% endif %}{% endfor %}. {%- endif %}
-- fix: Capture more before you change anything: {% if rows and rows[0].cause == 'idle_launch_latency' -%} find out
--   what else used the GPU at that time. {{ remedy('other_users') }} {%- else %}{{ way('idle_causes', 'calls, ranges
--   and whatever else the profiler can record on the host') }}{% endif %}
-- needs: gpu, steps
-- threshold: long_ns = 100000: twenty times a launch (5 us): the work waited for something else than being launched
-- threshold: least = 0.01: what is worth listing at all (WORTH_LISTING)
-- remarks: yes
-- uses: idle, counted
select
    p.cause,
    sum(p.dur) / (select count(*) from counted) as idle_ns,
    count(*) / (select count(*) from counted) as gaps_per_step,
    max(p.dur) as longest_ns,
    max_by(g.name, {'dur': p.dur, 'ts': -p.ts}) as longest,
    max_by(p.ts, {'dur': p.dur, 'ts': -p.ts}) as longest_ts
from idle as p
left join gpu_slice as g on g.trace_id = p.trace_id and g.slice_id = p.next_slice_id
where p.cause = 'idle_unattributed' or (p.cause = 'idle_launch_latency' and p.dur >= $long_ns)
group by p.cause
order by idle_ns desc
