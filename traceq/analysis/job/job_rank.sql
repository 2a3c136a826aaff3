-- The ranks of each job: GPUs of the traces of one run, else of one size of the world (of one folder where ranks repeat or the size
-- is unknown), in windows of traces that were recorded at the same time.
-- reads: memory_peak
-- makes: _job_unit, job_rank

create or replace temp table _job_unit as
with
-- The GPUs that communicate; where none does, the one that works longest.
device_time as (
    select
        trace_id,
        device,
        sum(dur) as busy,
        sum(dur) filter (is_communication) as communication
    from gpu_slice
    where device is not null
    group by trace_id, device
),

chosen as (
    select trace_id, device
    from device_time
    qualify
        communication > 0
        or (
            max(communication) over (partition by trace_id) is null
            and row_number() over (partition by trace_id order by busy desc, device) = 1
        )
),

-- What NCCL says of the process that launches most on the GPU.
process_rank as (
    select g.trace_id, g.device, h.rank
    from gpu_slice as g
    inner join cpu_slice as c on c.trace_id = g.trace_id and c.slice_id = g.launch_id
    inner join thread as h on h.trace_id = c.trace_id and h.thread_id = c.thread_id
    where h.rank is not null
    group by g.trace_id, g.device, h.rank
    qualify row_number() over (partition by g.trace_id, g.device order by count(*) desc, h.rank) = 1
),

-- What the source says of its devices; and where in the model each rank is, as it says or as SGLang writes it into names.
told as (
    select trace_id, unnest(from_json(args -> '$.operations.ranks', '[{"device":"INTEGER","rank":"INTEGER","pp":"INTEGER","dp":"INTEGER"}]')) as of_device
    from trace
    where args is not null
),

file as (
    select
        trace_id,
        parse_filename(path) as name,
        regexp_replace(path, '[^/\\]*$', '') as folder,
        coalesce(
            nullif(regexp_extract(parse_filename(path), '(?i)(?:rank|worker)[\[\-_/ ]?(\d+)', 1), ''),
            nullif(regexp_extract(path, '(?i)rank[\[\-_ ]?(\d+)\]?/[^/]*$', 1), ''),
            nullif(regexp_extract(parse_filename(path), '(?:^|[_.-])r(\d+)(?:[_.-]|$)', 1), ''),
            nullif(regexp_extract(parse_filename(path), 'TP-(\d+)-DP-\d+-PP-\d+-EP-\d+', 1), '')
        )::integer as number,
        regexp_extract(parse_filename(path), 'TP-(\d+)-DP-(\d+)-PP-(\d+)-EP-(\d+)', ['tp', 'dp', 'pp', 'ep']) as coordinates
    from trace
),

unit as (
    select
        t.trace_id, c.device, t.host, t.world_size,
        t.utc_origin_ns + t.ts as utc_begin,
        t.utc_origin_ns + t.ts + t.dur as utc_end,
        t.dur,
        t.rank as trace_rank,
        p.rank as process_rank,
        o.of_device.rank as told_rank,
        try_cast(f.coordinates.tp as integer) as tp,
        coalesce(o.of_device.dp, try_cast(f.coordinates.dp as integer)) as dp,
        coalesce(o.of_device.pp, try_cast(f.coordinates.pp as integer)) as pp,
        try_cast(f.coordinates.ep as integer) as ep,
        f.number as file_rank,
        count(c.device) over (partition by t.trace_id) as devices,
        coalesce('run ' || t.run, 'world ' || t.world_size, 'folder ' || f.folder) as key,
        f.folder,
        coalesce(t.run, nullif(regexp_extract(f.folder, '([^/\\]+)[/\\]$', 1), '')) as name
    from trace as t
    inner join file as f using (trace_id)
    left join chosen as c using (trace_id)
    left join told as o on o.trace_id = t.trace_id and o.of_device.device = c.device
    left join process_rank as p on p.trace_id = t.trace_id and p.device = c.device
    -- memory snapshots without a trace tell nothing of the time of a job
    where t.trace_id in (select trace_id from gpu_slice) or t.trace_id not in (select trace_id from memory_peak)
),

-- Names of files tell ranks where every trace of the job that lacks one has a number.
named as (
    select
        *,
        bool_and(file_rank is not null or trace_rank is not null or process_rank is not null) over (partition by key) as files_tell
    from unit
),

ranked as (
    select
        *,
        case
            when told_rank is not null then told_rank
            when devices <= 1 and trace_rank is not null then trace_rank
            when process_rank is not null then process_rank
            when devices <= 1 and files_tell then file_rank
            when devices > 1 and trace_rank is null then row_number() over (partition by trace_id order by device) - 1
        end as rank,
        case
            when told_rank is not null or (devices <= 1 and trace_rank is not null) then 'trace'
            when process_rank is not null then 'process'
            when devices <= 1 and files_tell then 'file'
            when devices > 1 and trace_rank is null then 'order'
        end as rank_source
    from named
),

-- A window begins where nobody was recorded any more. Without a common clock the first trace of each rank is in the first.
apart as (
    select
        *,
        bool_and(utc_begin is not null) over (partition by key) as has_clock,
        utc_begin > max(utc_end) over (
            partition by key order by utc_begin, trace_id rows between unbounded preceding and 1 preceding
        ) as begins
    from ranked
    where rank is not null
),

windowed as (
    select
        *,
        if(
            has_clock,
            count(if(begins, 1, null)) over (partition by key order by utc_begin, trace_id rows unbounded preceding),
            row_number() over (partition by key, rank order by trace_id) - 1
        ) as by_time
    from apart
),

-- The same rank twice at one time: jobs of several folders; within one folder captures that cannot be told apart by time.
repeated as (
    select *, count(*) over (partition by key, by_time, rank) > 1 as is_again
    from windowed
),

separate as (
    select *, if(bool_or(is_again) over (partition by key, by_time), folder, '') as place
    from repeated
),

again as (
    select *, row_number() over (partition by key, place, by_time, rank order by trace_id) - 1 as time_again
    from separate
),

numbered as (
    select
        *,
        dense_rank() over (order by key, place) as job,
        dense_rank() over (partition by key, place order by by_time, time_again) - 1 as time_window
    from again
)

select
    dense_rank() over (order by job) - 1 as job,
    time_window,
    row_number() over (partition by job, time_window order by rank) - 1 as unit,
    trace_id, device, rank, rank_source, host, world_size, dur, name, tp, dp, pp, ep
from numbered
qualify count(*) over (partition by job, time_window) > 1 or max(world_size) over (partition by job, time_window) > 1;

insert into job_rank by name
with
sized as (
    select
        *,
        count(*) over of_window as units,
        count(host) over of_window as with_host,
        dense_rank() over (partition by job, time_window order by host nulls last) as host_number
    from _job_unit
    window of_window as (partition by job, time_window)
),

hosts as (
    select *, max(host_number) over (partition by job, time_window) as hosts
    from sized
)

select
    job, time_window, unit, trace_id, device, rank, rank_source, host,
    0 as clock_samples,
    tp, dp, pp, ep,
    case
        when units <= 64 then unit
        when with_host = units and hosts <= 64 then min(unit) over (partition by job, time_window, host)
        else unit // (1 + (units - 1) // 64) * (1 + (units - 1) // 64)
    end as block
from hosts;
