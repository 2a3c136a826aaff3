-- Epochs of the loader that training fetches from most: what a fetch takes, and what of it, and of its workers' time, goes into reading
-- files. What begins before the first new iterator is left out: it may be a part of an epoch.
-- title: The first epoch reads from disk, later ones from memory
-- finds: A first epoch in which reading the files of a batch takes at least three times as long as in later ones.
-- matters: From the second epoch on, the operating system has the files in memory, if they fit. What a capture of the first
--   epoch shows about the loader holds only for the first epoch, and vice versa; if the data does not fit, all epochs are like
--   the first.
-- measured: Fetches of the training thread between new iterators (data_fetch.is_first, by Python frames), without the first
--   fetch of each: time in calls that read or open files (reading), and in such calls on worker threads in the same time, per
--   fetch. At least 5 fetches per epoch; the extra time of the first epoch is at least 10 % of its fetches and of what workers
--   do in that time; and fetches themselves become 10 % shorter later, since workers that read ahead may hide it.
-- try: Read the files once before training, or copy them to a local disk; judge the loader by the epoch that is typical of the
--   run.
-- references: https://docs.kernel.org/admin-guide/mm/concepts.html
--   https://docs.pytorch.org/docs/stable/data.html
-- remark: {% if facts.first_reading_ns >= times_longer * facts.later_reading_ns and facts.first_reading_ns -
--   facts.later_reading_ns >= worth * facts.first_fetch_ns and facts.first_fetch_ns - facts.later_fetch_ns >= worth *
--   facts.first_fetch_ns -%} In the first epoch of the capture, reading files takes {{ time(facts.first_reading_ns) }} per
--   batch; in {% if facts.later_epochs == 1 %}the next one{% else %}the {{ facts.later_epochs }} later ones{% endif %} it takes
--   {{ time(facts.later_reading_ns) }}, because the files then come from memory. A batch of {{ cut(facts.loader) }} takes {{
--   time(facts.first_fetch_ns) }} at first and {{ time(facts.later_fetch_ns) }} later (medians). {%- endif %}
-- fix: Load the files into memory before the first batch, if they fit: `vmtouch -t FOLDER`, or read them once in the
--   background. If they do not, copy them to a local NVMe disk, and judge the loader by the first epoch.
-- needs: steps, fetches
-- captures: host_only, steps, window
-- unknown: {% if not has('python_frames') %}{{ lacks('frames that show where an epoch begins are not traced', 'python_frames', 'brings them') }}
--   {%- elif not has('os_calls') and rows and not facts.first_reading_ns %}{{ lacks('reads are not traced', 'reads', 'brings them') }}
--   {%- endif %}
-- threshold: times_longer = 3: gpuprof's; memory is an order of magnitude faster than disks
-- threshold: worth = 0.1: of a fetch: less is not what a first epoch is slow for
-- threshold: fewest = 5: a median of fewer is chance
-- remarks: yes
-- only-with: data_fetch: trace_id = $trace_id and is_training and is_first
with
fetched as (
    select *, count(if(is_first, 1, null)) over (partition by thread_id, loader order by ts) as epoch
    from data_fetch
    where trace_id = $trace_id and is_training
),

epoch_of_loader as (
    select
        loader,
        epoch,
        min(ts) as ts,
        max(ts_end) as ts_end,
        count(*) as fetches,
        median(dur) as fetch_ns,
        sum(reading) as reading
    from fetched
    where epoch > 0 and not is_first
    group by loader, epoch
    having count(*) >= $fewest
),

main as (
    select loader
    from epoch_of_loader
    group by loader
    having count(*) > 1 and min(epoch) = 1
    order by sum(fetches) desc, loader
    limit 1
),

worker_read as (
    select e.epoch, sum(c.dur) as dur
    from epoch_of_loader as e
    inner join main using (loader)
    inner join cpu_slice as c on c.trace_id = $trace_id and c.kind = 'os' and c.ts >= e.ts and c.ts < e.ts_end
    where
        c.thread_id in (select thread_id from data_worker where trace_id = $trace_id and role in ('worker', 'prefetch'))
        and regexp_matches(c.name, '^(p?read(v|v2|64)?|f?open(at|64|at64)?|fread(_unlocked)?)$')
    group by e.epoch
),

epoch as (
    select e.*, (e.reading + coalesce(w.dur, 0)) / e.fetches as reading_ns
    from epoch_of_loader as e
    inner join main using (loader)
    left join worker_read as w using (epoch)
)

select
    loader, epoch, fetches, fetch_ns, reading_ns,
    max(fetch_ns) filter (epoch = 1) over () as first_fetch_ns,
    median(fetch_ns) filter (epoch > 1) over () as later_fetch_ns,
    max(reading_ns) filter (epoch = 1) over () as first_reading_ns,
    median(reading_ns) filter (epoch > 1) over () as later_reading_ns,
    count(*) filter (epoch > 1) over () as later_epochs
from epoch
order by epoch
