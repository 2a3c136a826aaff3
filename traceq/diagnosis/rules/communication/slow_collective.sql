-- Collectives that took much longer than the others of the same operation, group and size: what they took more.
-- title: Collectives that sometimes take far longer than usual
-- finds: A few collectives that last over three times as long as others of the same operation, group and size.
-- matters: Moving the same bytes between the same ranks takes the same time, unless a rank is late (garbage
--   collection, a checkpoint, a slow batch) or the network has a problem (retransmissions, another job). All ranks
--   lose that time.
-- measured: Durations in collective_slice, in the counted steps, against the median of the same operation, group and
--   size, of at least 8 (the median of fewer means little); without sizes, against the same collective in the other
--   steps. Outliers are longer than 3 medians. Only classes that are otherwise steady count: median at most twice the
--   10th percentile, 90th percentile no outlier; where all of them vary, late ranks are the rule. The claim is the
--   exposed time beyond the median. low 0.2, likely 0.7, high 1.
-- try: Look at what the other ranks did at that time. If no rank was late, check the network's counters,
--   NCCL_DEBUG=INFO, and links and switches shared with other jobs.
-- references: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
--   https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
-- fix: Look at what the other ranks did at that time: `traceq ingest rank*`. {{ occurrences }} of the collectives
--   took far longer than usual; the longest is {{ worst.op }}{% if worst.bytes %} of {{ size(worst.bytes) }}{% endif
--   %} in step {{ worst.step }}, which takes {{ time(worst.dur) }} instead of {{ time(worst.typical_ns) }} ({{
--   cut(worst.name) }}). {% if program.language in ('', 'python') %}A common reason is garbage collection: call
--   `gc.disable()`, and `gc.collect()` in the same step on all ranks. {% endif %}If no rank was late, run with
--   `NCCL_DEBUG=INFO` and look at the network's error counters.
-- confidence: medium
-- reason: The same operation with the same bytes and ranks usually takes a third of that time or less.
-- wrong-if: The slow ones did something else, or waited for work on another rank that the step needs.
-- heading: Find out which rank is sometimes late
-- needs: gpu, steps
-- about: communication
-- low: 0.2
-- likely: 0.7
-- high: 1.0
-- threshold: fewest = 8: fewer have no median and no tenths worth the name
-- threshold: outlier = 3.0: three medians: beyond what clocks, contention and protocols of NCCL explain together
--   (less than two)
-- threshold: steady = 2.0: in a class whose median is within a factor of two of its tenth percentile a long one is an
--   exception; where all vary, late ranks are usual
-- uses: busy
-- categories: communication
with
slice as (
    select
        b.step, b.ts, b.dur, b.name, b.slice_id,
        b.ledger_dur, c.op, c.bytes, c.group_size,
        coalesce(c.group_name, '') as members,
        -- without sizes, only the same one of each step is comparable
        coalesce(c.bytes, -row_number() over (partition by b.step order by b.ts, b.slice_id)) as message,
        count(*) over (partition by b.step) as of_step
    from busy as b
    inner join collective_slice as c on c.trace_id = b.trace_id and c.slice_id = b.slice_id
    where b.category = 'communication'
),

usual as (
    select *, mode(of_step) over () as usual_of_step
    from slice
),

class as (
    select op, members, message, median(dur) as typical, quantile_cont(dur, 0.1) as short, quantile_cont(dur, 0.9) as long
    from usual
    where bytes is not null or of_step = usual_of_step
    group by op, members, message
    having count(*) >= $fewest
)

select
    s.step, s.ts, s.dur, s.name, s.slice_id,
    least(s.ledger_dur, s.dur - c.typical) * _above(s.dur, $outlier * c.typical) as claimed,
    'communication' as cause, 'communication' as scenario, s.slice_id as busy_id, s.op, s.bytes, s.group_size,
    c.typical as typical_ns
from usual as s
inner join class as c on c.op = s.op and c.members = s.members and c.message = s.message
where
    s.dur > $outlier * c.typical
    -- the others agree with each other: where all vary, none is an outlier
    and c.typical <= $steady * c.short
    and c.long <= $outlier * c.typical
    and s.ledger_dur > 0
    and (s.bytes is not null or s.of_step = s.usual_of_step)
