-- The ledger of a run by category, and what each early end of an attempt costs.

--: One row per category of run_phase that a run has: the rows add up to its wall time.
create or replace view run_goodput as
select
    --: Trace.
    trace_id,
    --: Category, as in run_phase.
    category,
    --: Time, ns.
    sum(dur)::bigint as dur,
    --: Share of the wall time, 0 to 1.
    sum(dur) / any_value(wall) as share,
    --: Whether GPUs are held then, and so paid for: not in the queue, nor between two jobs.
    category not in ('queue', 'not_submitted') as is_billed,
    --: Time of all GPUs together in which they are paid for, ns; NULL where the number of GPUs is not known.
    case
        when category in ('queue', 'not_submitted') then 0
        when bool_and(gpus is not null) then sum(dur * gpus)::bigint
    end as gpu_dur
from (select *, sum(dur) over (partition by trace_id) as wall from run_phase)
group by trace_id, category;

--: One row per attempt that ended early: what the failure, preemption or restart cost, from the steps that were lost to
--: the first step of the next attempt, and the compilation after it. The parts add up to dur.
create or replace view run_restart as
with
part as (
    select a.trace_id, a.attempt, p.category, p.dur, p.gpus
    from run_attempt as a
    inner join run_phase as p on p.trace_id = a.trace_id and p.attempt = a.attempt
    where a.ended_by is not null and (
        p.category in ('lost', 'hang')
        -- what follows a failure after which no other attempt came
        or (p.category = 'idle' and p.at_ns + p.dur = a.at_ns + a.dur)
    )
    union all
    select a.trace_id, a.attempt, p.category, p.dur, p.gpus
    from run_attempt as a
    inner join run_attempt as n on n.trace_id = a.trace_id and n.attempt = a.attempt + 1
    inner join run_phase as p on p.trace_id = a.trace_id and p.attempt = n.attempt
    where a.ended_by is not null and (p.at_ns < n.first_step_at or (p.category = 'compile' and p.is_inferred))
),

spent as (
    select
        trace_id,
        attempt,
        coalesce(sum(dur) filter (category = 'lost'), 0) as lost,
        coalesce(sum(dur) filter (category = 'hang'), 0) as hang,
        coalesce(sum(dur) filter (category = 'restart'), 0) as restart,
        coalesce(sum(dur) filter (category in ('queue', 'not_submitted')), 0) as queue,
        coalesce(sum(dur) filter (category = 'start_up'), 0) as start_up,
        coalesce(sum(dur) filter (category = 'compile'), 0) as compile,
        sum(dur) as dur,
        count_if(gpus is null and category not in ('queue', 'not_submitted')) as unknown_gpus,
        coalesce(sum(dur * gpus) filter (category not in ('queue', 'not_submitted')), 0) as gpu_dur
    from part
    group by trace_id, attempt
)

select
    --: Trace.
    a.trace_id,
    --: Attempt that ended; see run_attempt.
    a.attempt,
    --: As in run_attempt.
    a.ended_at,
    --: As in run_attempt.
    a.ended_by,
    --: As in run_attempt.
    a.reason,
    --: As in run_attempt.
    a.lost_steps,
    --: Time in which lost steps were done, ns.
    coalesce(s.lost, 0)::bigint as lost,
    --: From the last sign of life to the failure, ns.
    coalesce(s.hang, 0)::bigint as hang,
    --: From the failure to the next start of the program or job, ns.
    coalesce(s.restart, 0)::bigint as restart,
    --: In the queue of the scheduler, or not even there, ns.
    coalesce(s.queue, 0)::bigint as queue,
    --: From the start of the program to its first step, ns.
    coalesce(s.start_up, 0)::bigint as start_up,
    --: Compilation of the next attempt: before its first step, and what its first steps took longer than usual, ns.
    coalesce(s.compile, 0)::bigint as compile,
    --: What is none of these, such as reading a checkpoint, ns.
    coalesce(s.dur - s.lost - s.hang - s.restart - s.queue - s.start_up - s.compile, 0)::bigint as other,
    --: All of it, ns.
    coalesce(s.dur, 0)::bigint as dur,
    --: Time of all GPUs together that is paid for, ns; NULL where the number of GPUs is not known.
    if(s.unknown_gpus > 0, null, coalesce(s.gpu_dur, 0))::bigint as gpu_dur
from run_attempt as a
left join spent as s on s.trace_id = a.trace_id and s.attempt = a.attempt
where a.ended_by is not null;
