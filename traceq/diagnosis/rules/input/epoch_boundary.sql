-- Idle time of the first fetches of iterators beyond that of the others, and of making these iterators.
-- title: The first batch of an epoch is late
-- finds: The first fetch of a loader's new iterator: workers are started again, and nothing has been prefetched yet.
-- matters: Without persistent workers, each epoch and each validation begins by starting processes, importing modules
--   and filling the queue, and the GPU waits for all of it.
-- measured: Idle time of cause idle_data (idle_piece) in first fetches (data_fetch.is_first), less what a usual fetch
--   of the loader takes, and idle time of cause idle_python in the same gap, for as long as creating the iterator
--   took (iterator_dur). Without Python frames: fetches 10 times as long as the median (other causes rarely reach
--   that), at most one in 5 of at least 5. Loaders that work in the training process have no workers to start and are
--   left out. Shares: low 0.5 (the queue still has to be filled once), likely 1, high 1.
-- try: persistent_workers=True; one long iterator over several epochs.
-- references: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
-- fix: {{ remedy('keep_workers') }} The {% if worst.is_first is not none %}first fetch of a new iterator{% else
--   %}longest fetch{% endif %} takes {{ time(worst.fetch_ns) }}, other fetches {{ time(worst.usual_ns) }}{% if
--   worst.iterator_ns %}; creating the iterator took {{ time(worst.iterator_ns) }} before that{% endif %}.
-- confidence: {% if worst.is_first is not none %}high{% else %}medium{% endif %}
-- reason: {% if worst.is_first is not none %}Frames show that the iterator was created right before this fetch. {%-
--   else %}This is inferred from the length and rarity of the fetch; the trace has no frames that would show an
--   iterator being created. {%- endif %}
-- wrong-if: {% if worst.is_first is not none %}The workers are already kept. {%- else %}The long fetches are not at
--   the beginning of an epoch: then a few batches are slow in themselves. {%- endif %}
-- heading: {% if worst.is_first is none %}Find out why a few fetches take much longer{% else %}Keep the loader from
--   epoch to epoch{% endif %}
-- needs: gpu, steps, fetches
-- captures: host_only, steps, window
-- low: 0.5
-- likely: 1.0
-- threshold: times_longer = 10: an order of magnitude above the median: other reasons seldom come to that
-- threshold: least_fetches = 5: so that at most one in five is taken for a first one
-- uses: idle, fetch_idle
-- categories: idle_data, idle_python
with
fetched as (
    select
        slice_id, loader, dur, is_first, iterator_dur,
        median(dur) over one_loader as typical,
        count(*) over one_loader as fetches
    from data_fetch
    where trace_id = $trace_id and is_training and loader_kind is distinct from 'in_process'
    window one_loader as (partition by thread_id, loader)
),

-- where no frame tells the first, the few that are much longer than the others
boundary as (
    select *, greatest(0, dur - typical) / nullif(dur, 0) as extra_share
    from fetched
    where is_first or (is_first is null and fetches >= $least_fetches and dur >= $times_longer * typical)
    qualify is_first or count(*) over (partition by loader) * $least_fetches <= fetches
),

fetching as (
    select p.*, b.slice_id, b.loader, b.dur as fetch_ns, b.typical, b.iterator_dur, b.is_first, b.extra_share
    from fetch_idle as p
    inner join boundary as b on b.slice_id = p.fetch_id
)

select
    step, ts, dur, loader as name, slice_id,
    dur * extra_share as claimed,
    cause, gap_id, fetch_ns, typical as usual_ns, iterator_dur as iterator_ns, is_first
from fetching
union all
-- the iterator is made right before, in the same gap
select
    p.step, p.ts, p.dur, f.loader, f.slice_id,
    least(p.dur, f.iterator_dur),
    p.cause, p.gap_id, f.fetch_ns, f.typical, f.iterator_dur, f.is_first
from (select *, row_number() over (partition by gap_id order by ts) as number from fetching where iterator_dur > 0) as f
inner join idle as p on p.gap_id = f.gap_id and p.cause = 'idle_python'
where f.number = 1
