-- Idle time under fetches of input, and under calls that read files, while a disk was saturated, by logs of monitors.
-- title: Input waits for a saturated disk
-- finds: Time in which the GPU waits for input, or for a read of a file, while iostat, sar or another monitor says that a disk
--   was busy all of the time.
-- matters: A saturated disk is no faster with more workers: they only queue up. Read fewer bytes, or read them from elsewhere.
-- measured: Idle time of cause idle_data, and of idle_os under calls that read (idle_piece), where it falls in samples in which
--   a disk is used 95 % of the time or more and, where the log says it, at least one request is queued on average. Shares: low
--   0.3 (some of the fetch is work of its own), likely 0.9, high 1.
-- try: Local NVMe instead of network storage, fewer and larger files, more memory for the page cache, compressed formats.
-- references: https://man7.org/linux/man-pages/man1/iostat.1.html
--   https://docs.pytorch.org/docs/stable/data.html
-- fix: Take load off the disk {{ worst.disk | cut }}: copy the data to a faster (NVMe) disk or into memory, store it in fewer
--   and larger files, and keep other programs off that disk. The disk is busy {{ percent(worst.utilization / 100) }} of the
--   time{% if worst.queue is not none %} with {{ '{:,.0f}'.format(worst.queue) }} accesses queued{% endif %} while the GPU
--   waits for input{% if worst.read_bytes is not none %}, at {{ gb_per_s(worst.read_bytes / 1e9) }} read{% endif %}; more
--   workers would only queue up there.
-- confidence: {% if worst.queue is not none %}high{% else %}medium{% endif %}
-- reason: The monitor logged a saturated disk during the waits{% if worst.queue is none %}; the log does not say how many
--   accesses were queued, and an SSD that is always busy is not necessarily at its limit{% endif %}.
-- wrong-if: The files that are read are on another disk, or in the page cache.
-- heading: Take load off the disk: input waits for it, and it is saturated
-- needs: gpu, steps, disk_samples
-- low: 0.3
-- likely: 0.9
-- threshold: saturated = 95: per cent: what iostat(1) calls close to 100, where a disk that serves one request at a time is saturated
-- threshold: least_queue = 1: requests: a disk that serves several at a time is busy with fewer, and waited for from there on
-- uses: idle, monitored
-- categories: idle_data, idle_os
with
disk as (
    select
        log_id, ts, ts_end, instance as disk,
        max(value) filter (name = 'disk_utilization') as utilization,
        max(value) filter (name = 'disk_queue') as queue,
        max(value) filter (name = 'disk_read') as read_bytes
    from monitored
    where device is null and instance is not null and starts_with(name, 'disk_')
    group by all
),

-- of several logs that tell of the same time the first
saturated as (
    select ts, ts_end, arg_max({'disk': disk, 'utilization': utilization, 'queue': queue, 'read_bytes': read_bytes}, coalesce(queue, 0)) as most
    from disk
    where
        utilization >= $saturated
        and coalesce(queue >= $least_queue, true)
        and log_id = (select min(log_id) from disk where utilization is not null)
    group by ts, ts_end
),

waited as (
    select p.step, p.ts, p.dur, p.cause, p.gap_id, p.cpu_slice_id, c.name
    from idle as p
    left join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = p.cpu_slice_id
    where
        p.cause = 'idle_data'
        or (p.cause = 'idle_os' and regexp_matches(c.name, '^(p?read(v|v2|64|ahead)?|f?open(at|64|at64)?|fread(_unlocked)?)$'))
)

select
    w.step, w.ts, w.dur,
    any_value(w.name) as name,
    any_value(w.cpu_slice_id) as slice_id,
    least(w.dur, sum(least(s.ts_end, w.ts + w.dur) - greatest(s.ts, w.ts))) as claimed,
    w.cause,
    w.gap_id,
    any_value(s.most.disk) as disk,
    max(s.most.utilization) as utilization,
    max(s.most.queue) as queue,
    max(s.most.read_bytes) as read_bytes
from waited as w
inner join saturated as s on s.ts < w.ts + w.dur and s.ts_end > w.ts
group by w.step, w.ts, w.dur, w.cause, w.gap_id
