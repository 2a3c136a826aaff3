-- The training thread's time from the end of one epoch's batches to the first batch of the next, beyond what usual fetches take.
-- title: Workers start again for each epoch
-- finds: A DataLoader with worker processes whose iterator ends and is made again between two steps, in traces without GPU activity:
--   a fetch follows a fetch, and nothing is computed between them.
-- matters: Without persistent workers each epoch ends its processes, starts new ones, and fills the queue again, and the training
--   thread waits for all of it.
-- measured: Own time of the training thread (host_time) between two fetches of a loader with workers (data_fetch, multi_process)
--   without a backward pass or an optimizer between them; and of these two fetches what is beyond the median fetch. Shares: low 0.5
--   (the queue has to be filled once all the same), likely 1, high 1.
-- try: persistent_workers=True; one long iterator over several epochs; a sampler without end.
-- references: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
-- heading: Keep the workers from epoch to epoch: {{ percent(claimed_share) }} of {% if subject.is_window %}the window{% else %}a step{%
--   endif %} goes to starting them
-- fix: {{ remedy('keep_workers') }} Between two epochs the main thread waits {{ time(worst.boundary_ns) }}; a usual fetch takes {{
--   time(worst.usual_ns) }}. It is so in {{ steps_with_it }} of {{ steps }} steps.
-- confidence: high
-- reason: Two fetches follow one another with nothing computed between them: the first one ended its iterator.
-- wrong-if: The workers are kept already, and what is long is the first batch itself, such as a shuffle of the whole data set.
-- for: pytorch
-- needs: steps, host_alone, fetches
-- absent: {% if has('gpu') %}a GPU works in the steps: epoch-boundary tells{% endif %}
-- low: 0.5
-- likely: 1
-- uses: host_time
with
fetched as (
    select
        slice_id,
        ts,
        ts_end,
        dur,
        median(dur) over (partition by thread_id, loader) as usual,
        lag(ts) over (partition by thread_id, loader order by ts) as ended_ts,
        lag(ts_end) over (partition by thread_id, loader order by ts) as ended_end,
        lag(dur) over (partition by thread_id, loader order by ts) as ended_dur
    from data_fetch
    where trace_id = $trace_id and is_training and loader_kind = 'multi_process'
),

computing as (
    select ts from host_time where phase in ('backward', 'optimizer')
),

boundary as (
    select f.*
    from fetched as f
    asof left join computing as c on f.ts >= c.ts
    where f.ended_ts is not null and c.ts is not null and c.ts < f.ended_ts
),

-- of a fetch that is as short as usual nothing is claimed
stretch as (
    select ts, ts_end, greatest(dur - usual, 0) / dur as extra, ts_end - ended_ts as boundary_ns, usual from boundary
    union all
    select ended_ts, ended_end, greatest(ended_dur - usual, 0) / greatest(ended_dur, 1), ts_end - ended_ts, usual from boundary
    union all
    select ended_end, ts, 1, ts_end - ended_ts, usual from boundary
)

select
    p.step,
    p.ts,
    p.dur,
    p.name,
    p.slice_id,
    p.dur * s.extra as claimed,
    p.category as cause,
    p.piece_id as gap_id,
    s.boundary_ns,
    s.usual as usual_ns
from host_time as p
asof inner join stretch as s on p.ts >= s.ts
where p.ts < s.ts_end and s.extra > 0
