-- Idle time under fetches that mostly read files, or whose workers mostly do; what reading takes of it.
-- title: The program waits for file reads
-- finds: Fetches of input, or worker processes, that spend most of their time in calls that read files, while the GPU
--   waits.
-- matters: More workers or faster transforms help little when storage is slow: bring the data closer first.
-- measured: data_fetch.reading: time of calls that open and read files, and of Python frames that do, on the training thread;
--   for worker threads, the same calls over the time in which they do not wait (data_worker.busy). In a fetch where that is at
--   least half (so nothing else is larger), the idle time of cause idle_data (idle_piece) counts by that share. Shares: low 0.3
--   (some of it is copying from the page cache), likely 1, high 1.
-- try: Local NVMe instead of network storage, fewer and larger files, memory mapping, more concurrent reads.
-- references: https://docs.pytorch.org/docs/stable/data.html
--   https://docs.nvidia.com/nsight-systems/UserGuide/index.html
-- fix: {% set own = share_of(facts.reading_ns, facts.fetch_ns) -%} Copy the data to a local NVMe disk, or store it as a few
--   large files that are read in sequence. For instance, use {% if program.is_pytorch
--   %}`webdataset.WebDataset('shards-{000000..000099}.tar')` or {% endif %}one array opened by `numpy.load(path,
--   mmap_mode='r')`. If latency rather than bandwidth is the limit, read more files at once.{% if not facts.workers %} {{
--   remedy('workers', workers=8) }}{% endif %} Reading files takes {% if own >= least_reading %}{{ percent(own) }} of the
--   fetching time on the main thread {%- else %}{{ percent(worst.reading_share) }} of the workers' working time {%- endif %},
--   and the GPU idles for {{ per_step(claimed_ns) }} because of it. {%- set files = ask('input_files') %}{% if files and
--   files[0].files_per_step >= 1 %} A step opens {{ plural(files[0].files_per_step | round | int, 'file') }}{% if
--   files[0].folder %} in {{ cut(files[0].folder) }}{% endif %}{% if files[0].bytes_per_file %} and reads {{
--   size(files[0].bytes_per_file | round | int) }} from each{% endif %}; opening takes {{ percent(files[0].opening_share) }} of
--   these calls {%- if files[0].bytes_per_file and files[0].bytes_per_file < small_file %}: so many small files are slow on any
--   storage{% endif %}.{% endif %}
-- confidence: {% if has('os_calls') %}high{% else %}medium{% endif %}
-- reason: {% if has('os_calls') %}The trace has the calls that read. {%- else %}The trace has frames that read files, but does
--   not show whether the disk was slow. {%- endif %}
-- wrong-if: A second run over the same files, now cached in memory, is not faster.
-- heading: Read faster: use a local disk, large files, more concurrent reads
-- needs: gpu, steps, fetches
-- unknown: {% if not has('os_calls') and not has('python_frames') %}{{ lacks('reads are not traced', 'reads', 'brings them') }}
--   {%- endif %}
-- facts: input_facts
-- low: 0.3
-- likely: 1.0
-- threshold: small_file = 1048576: to open a file over a network takes about a millisecond, in which a gigabyte a second reads
--   1 MiB
-- threshold: least_reading = 0.5: the larger part of the fetch is reading
-- uses: fetch_idle
-- categories: idle_data
with
-- of the time in which workers do not wait, that in calls that read
worker as (
    select
        (
            select coalesce(sum(c.dur), 0)
            from cpu_slice as c
            inner join (
                select d.thread_id, min(s.ts) as ts, max(s.ts_end) as ts_end
                from data_worker as d
                inner join step as s using (trace_id, step)
                where d.trace_id = $trace_id and d.role = 'worker' and d.busy is not null
                group by d.thread_id
            ) as w using (thread_id)
            where
                c.trace_id = $trace_id
                and c.kind = 'os'
                and c.ts >= w.ts
                and c.ts < w.ts_end
                and regexp_matches(c.name, '^(p?read(v|v2|64|ahead)?|f?open(at|64|at64)?|fread(_unlocked)?|l?stat(x|64)?|io_(submit|getevents))$')
        ) / nullif(sum(busy), 0) as reading_share
    from data_worker
    where trace_id = $trace_id and role = 'worker'
),

fetched as (
    select
        slice_id, loader, dur,
        if(
            coalesce(loader_kind, 'multi_process') = 'multi_process',
            greatest(reading / nullif(dur, 0), least(1, coalesce((select reading_share from worker), 0))),
            reading / nullif(dur, 0)
        ) as reading_share
    from data_fetch
    where trace_id = $trace_id
)

select
    p.step, p.ts, p.dur, f.loader as name, f.slice_id,
    p.dur * f.reading_share * _above(f.reading_share, $least_reading) as claimed,
    p.cause, p.gap_id, f.dur as fetch_ns, f.reading_share
from fetch_idle as p
inner join fetched as f on f.slice_id = p.fetch_id
where f.reading_share >= $least_reading
