-- What each rank, or each GPU of one capture, does of a step by itself: what is left without waiting for others.
-- title: One rank does more than the others, which wait for it
-- finds: Among the ranks of a job in the database (or the GPUs of one capture), the one that needs the most time for its own
--   part of a step, and what it spends more time on than the others.
-- matters: Ranks meet in collectives, so the slowest one sets the pace for all. On the others the time looks like
--   communication, but tuning communication does not help.
-- measured: Per rank and counted step the ledger (time_ledger) without waiting for others: without communication,
--   idle_communication, idle_dependency and idle_launch_latency (which hides waits of streams). The largest is at least 10 %
--   above the smallest, the limit that straggler tools use, and above it by 1 % of a step. Only traces with the same run and
--   size of the job are compared; the remark is made for the slowest.
-- try: Fix what the slowest rank spends more time on. If all ranks have the same work, look at its host and its GPU (clocks,
--   other users).
-- references: https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
--   https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/index.html
-- remark: {% set fastest = rows[-1] -%} {% if facts.own_ns >= unbalanced * fastest.own_ns and facts.own_ns - fastest.own_ns >=
--   worth_a_remark * facts.step_ns %}{{ unit(facts) }} needs {{ time(facts.own_ns) }} a step, waiting for others left out; {{
--   unit(fastest) }} needs {{ time(fastest.own_ns) }} ({{ rows | length }} compared). The largest difference is {{
--   words_for(facts.more_of) }}: +{{ time(facts.more_ns) }} per step. Its compute takes {{ time(facts.compute_ns) }}, that of
--   {{ unit(fastest) }} {{ time(fastest.compute_ns) }}. {%- endif %}
-- fix: {% if facts.more_of == 'compute' %}Give {{ unit(facts) }} less work {%- if program.runs_model %} (shorter sequences,
--   fewer layers or experts) {%- endif %}. Or check whether its GPU is slower: {{ remedy('slower_gpu') }}. {%- else %}Fix {{
--   words_for(facts.more_of) }} on {{ unit(facts) }} first, as its findings say; collectives on the others then get shorter.
--   {%- endif %}
-- unknown: {% if subject.is_window %}there are no steps to compare ranks by; mark steps with traceq.annotate {%- elif rows |
--   length <= 1 and subject.world_size and subject.world_size > 1 %}only one of {{ subject.world_size }} ranks is in the
--   database; ingest the traces of the others into it with traceq ingest {%- endif %}
-- absent: {% if rows | length <= 1 %}the trace names no other rank {%- elif facts.own_ns >= unbalanced * rows[-1].own_ns and
--   facts.trace_id != subject.trace_id and facts.own_ns - rows[-1].own_ns >= worth_a_remark * facts.step_ns %}{{ unit(facts) }}
--   is the slow one, and the remark is made there {%- endif %}
-- threshold: unbalanced = 1.1: ranks of even work differ by less than a tenth, where tools for stragglers begin
--   ("Understanding Stragglers in Large Model Training Using What-if Analysis": slowdown of 1.1)
-- threshold: worth_a_remark = 0.01: what is worth listing at all (WORTH_LISTING)
-- remarks: yes
-- only-with: step_stats: (select count(*) from (select distinct trace_id, device from time_ledger)) > 1
with
this as (
    select run, world_size
    from trace
    where trace_id = $trace_id
),

-- The traces of one job: of a rank that is there twice, this one, else the last.
job as (
    select max_by(t.trace_id, {'this': t.trace_id = $trace_id, 'trace_id': t.trace_id}) as trace_id, t.rank
    from trace as t
    inner join this as s on t.run is not distinct from s.run and t.world_size is not distinct from s.world_size
    where t.rank is not null or t.trace_id = $trace_id
    group by t.rank
),

part as (
    select l.trace_id, l.device, j.rank, l.category, sum(l.dur) as dur
    from time_ledger as l
    inner join job as j using (trace_id)
    inner join step as s on s.trace_id = l.trace_id and s.step = l.step
    where s.excluded is null and s.source <> 'window'
    group by all
),

unit as (
    select
        p.trace_id, p.device, p.rank, a.steps,
        sum(p.dur) / a.steps as step_ns,
        coalesce(sum(p.dur) filter (p.category = 'compute'), 0) / a.steps as compute_ns,
        sum(p.dur) filter (p.category not in ('communication', 'idle_communication', 'idle_dependency', 'idle_launch_latency'))
        / a.steps as own_ns
    from part as p
    inner join step_stats as a using (trace_id)
    group by p.trace_id, p.device, p.rank, a.steps
    having compute_ns > 0
),

slowest as (
    select min_by({'trace_id': trace_id, 'device': device}, {'own': -own_ns, 'trace_id': trace_id, 'device': device}) as unit
    from unit
),

-- Of what the slowest has most, compared with the others on the average.
more as (
    select
        p.category,
        sum(p.dur / a.steps) filter (p.trace_id = s.unit.trace_id and p.device = s.unit.device) as here,
        coalesce(sum(p.dur / a.steps) filter (p.trace_id <> s.unit.trace_id or p.device <> s.unit.device), 0)
        / nullif((select count(*) - 1 from unit), 0) as elsewhere
    from part as p
    inner join step_stats as a using (trace_id)
    inner join unit as u on u.trace_id = p.trace_id and u.device = p.device
    cross join slowest as s
    where p.category not in ('communication', 'idle_communication', 'idle_dependency', 'idle_launch_latency')
    group by p.category
),

most as (
    select arg_max(category, here - elsewhere) as category, max(here - elsewhere) as dur
    from more
)

select
    u.trace_id, u.rank, u.device, u.steps,
    u.step_ns::bigint as step_ns,
    u.compute_ns::bigint as compute_ns,
    u.own_ns::bigint as own_ns,
    (u.trace_id = s.unit.trace_id and u.device = s.unit.device) as is_slowest,
    if(is_slowest, m.category, null) as more_of,
    if(is_slowest, m.dur::bigint, null) as more_ns
from unit as u
cross join slowest as s
cross join most as m
order by u.own_ns desc, u.trace_id, u.device
