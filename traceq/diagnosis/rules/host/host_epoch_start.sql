-- The training thread's time from the end of one epoch's batches to the first batch of the next, beyond what usual fetches take.
-- title: Workers start again for each epoch
-- finds: A DataLoader with worker processes whose iterator ends and is created again between two steps, in traces without GPU
--   activity: a fetch follows a fetch, nothing is computed between them, and both together bring fewer batches than there are
--   fetches.
-- matters: Without persistent workers, each epoch ends its processes, starts new ones and refills the queue, and the training
--   thread waits for all of that.
-- measured: Own time of the training thread (host_time) between two fetches of a loader with workers (data_fetch,
--   multi_process) with next to no operators between them, of which fewer backward passes follow than there are fetches, and
--   which together last as long as three usual ones; and what these two fetches take beyond the median fetch. If frames show
--   new iterators, only there. Shares: low 0.5 (the queue still has to be filled once), likely 1, high 1.
-- try: persistent_workers=True; one long iterator over several epochs; an endless sampler.
-- references: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
-- heading: Keep the workers from epoch to epoch: {{ percent(claimed_share) }} of {% if subject.is_window %}the window{% else
--   %}a step{% endif %} is spent starting them
-- fix: {{ remedy('keep_workers') }} Between two epochs the main thread waits {{ time(worst.boundary_ns) }}; a usual fetch takes
--   {{ time(worst.usual_ns) }}. This happens in {{ steps_with_it }} of {{ steps }} steps.
-- confidence: high
-- reason: Two fetches follow one another with nothing computed between them, and only one batch is computed after them: the
--   first fetch ended its iterator.
-- wrong-if: The workers are already kept, and it is the first batch itself that takes long, for instance because the whole data
--   set is shuffled.
-- for: pytorch
-- needs: steps, host_alone, fetches
-- absent: {% if ask('host_settings')[0].keeps_workers %}the run's settings say that workers persist{% endif %}
-- low: 0.5
-- likely: 1
-- threshold: computing = 0.1: of the time between two fetches: samplers and sums of an epoch take an operator or two
-- threshold: usual_fetches = 3: two fetches that only follow one another last as long as two
-- uses: host_time
with
fetched as (
    select
        slice_id, thread_id, loader, ts, ts_end, dur, is_first,
        bool_or(coalesce(is_first, false)) over (partition by thread_id, loader) as has_iterators,
        median(dur) over (partition by thread_id, loader) as usual,
        lag(ts) over (partition by thread_id, loader order by ts) as ended_ts,
        lag(ts_end) over (partition by thread_id, loader order by ts) as ended_end,
        lag(dur) over (partition by thread_id, loader order by ts) as ended_dur
    from data_fetch
    where trace_id = $trace_id and is_training and loader_kind = 'multi_process'
),

-- with how much was computed, and how many backward passes began, until then
computed as (
    select
        ts,
        sum(dur) over (order by ts) as dur,
        count(if(phase = 'backward' and before is distinct from 'backward', 1, null)) over (order by ts) as passes
    from (select *, lag(phase) over (order by ts) as before from host_time where category = 'operator' or phase in ('backward', 'optimizer'))
),

-- fetches that follow one another with next to nothing computed between them are one run
followed as (
    select
        f.* exclude (slice_id),
        coalesce(here.passes, 0) as passes,
        here.ts is not null and coalesce(here.dur, 0) - coalesce(ended.dur, 0) <= $computing * (f.ts - f.ended_end) as follows,
        sum(if(follows, 0, 1)) over (partition by f.thread_id, f.loader order by f.ts) as run
    from fetched as f
    asof left join computed as here on f.ts >= here.ts
    asof left join computed as ended on f.ended_end >= ended.ts
),

run as (
    select
        thread_id, loader, run,
        -- counted steps are whole: what the last fetches bring is computed in them
        lead(max(passes), 1, (select max(passes) from computed)) over (partition by thread_id, loader order by run) - max(passes) as batches,
        count(*) - batches as without_batch
    from followed
    group by thread_id, loader, run
),

-- a fetch that brings no batch is the end of its iterator; of more fetches than that those that wait longest are where it was
boundary as (
    select * exclude (place)
    from (
        select
            f.*,
            r.without_batch,
            row_number() over (partition by f.thread_id, f.loader, f.run order by f.ts_end - f.ended_ts desc, f.ts) as place
        from followed as f
        inner join run as r using (thread_id, loader, run)
        where f.follows and f.ended_ts is not null and (f.is_first or not f.has_iterators)
    )
    where place <= without_batch and ts_end - ended_ts >= $usual_fetches * usual
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
    p.step, p.ts, p.dur, p.name, p.slice_id,
    p.dur * s.extra as claimed,
    p.category as cause, p.piece_id as gap_id, s.boundary_ns, s.usual as usual_ns
from host_time as p
asof inner join stretch as s on p.ts >= s.ts
where p.ts < s.ts_end and s.extra > 0
