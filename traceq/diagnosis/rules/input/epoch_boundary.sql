-- Idle time of the first fetches of iterators beyond that of the others, and of making these iterators.
-- needs: gpu, steps, fetches
-- low: 0.5
-- likely: 1.0
-- settings: times_longer=10, least_fetches=5
-- uses: idle
-- categories: idle_data, idle_python
with
fetched as (
    select
        slice_id,
        loader,
        dur,
        is_first,
        iterator_dur,
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
    from idle as p
    inner join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
    inner join boundary as b on b.slice_id = coalesce(c.context_id, c.slice_id)
    where p.cause = 'idle_data'
)

select
    step,
    ts,
    dur,
    loader as name,
    slice_id,
    dur * extra_share as claimed,
    cause,
    gap_id,
    fetch_ns,
    typical as usual_ns,
    iterator_dur as iterator_ns,
    is_first
from fetching
union all
-- the iterator is made right before, in the same gap
select
    p.step,
    p.ts,
    p.dur,
    f.loader,
    f.slice_id,
    least(p.dur, f.iterator_dur),
    p.cause,
    p.gap_id,
    f.fetch_ns,
    f.typical,
    f.iterator_dur,
    f.is_first
from (select *, row_number() over (partition by gap_id order by ts) as number from fetching where iterator_dur > 0) as f
inner join idle as p on p.gap_id = f.gap_id and p.cause = 'idle_python'
where f.number = 1
