-- The stretch in which the program uses GPUs: from the launch of the first GPU work to the end of the last. Bits of work at its
-- ends, as a copy while a library loads, are no part of it: at most 1 % of all work, and apart by idle time that is 5 % of the whole
-- stretch or more, and 20 times as long as they are; kernels only where the capture holds the start of the program, which tries
-- its GPU. Of the host, without a GPU. No row where there is nothing at all.
-- reads: _gpu_launch
with
first_call as (
    select name
    from cpu_slice
    where kind = 'runtime'
    order by ts, ts_end
    limit 3
),

starting as (
    select count(*) > 0 as is_starting
    from first_call
    where _asks_for_devices(name)
),

work as (
    select least(l.launched_at, g.ts) as launched_at, g.ts, g.ts + g.dur as ts_end, g.dur, g.kind in ('kernel', 'graph') as is_kernel
    from staging.gpu_slice as g
    inner join _gpu_launch as l using (slice_id)
),

extent as (
    select max(ts_end) - min(ts) as span, sum(dur) as busy from work
),

parted as (
    select
        *,
        coalesce(
            ts - max(ts_end) over (order by ts, ts_end rows between unbounded preceding and 1 preceding)
            >= 0.05 * (select span from extent),
            false
        ) as is_apart
    from work
),

island as (
    select
        min(launched_at) as launched_at, min(ts) as ts, max(ts_end) as ts_end, sum(dur) as busy, bool_or(is_kernel) as has_kernel
    from (select *, count_if(is_apart) over (order by ts, ts_end) as island from parted)
    group by island
),

summed as (
    select
        *,
        sum(busy) over (order by ts) as until,
        sum(busy) over (order by ts desc) as since,
        bool_or(has_kernel and not is_starting) over (order by ts) as has_kernel_until,
        bool_or(has_kernel) over (order by ts desc) as has_kernel_since,
        lead(ts) over (order by ts) - ts_end as idle_after,
        ts - lag(ts_end) over (order by ts) as idle_before,
        ts_end - min(ts) over () as length_until,
        max(ts_end) over () - ts as length_since
    from island
    cross join starting
),

-- A bit at the start and all before it; a bit at the end and all after it.
bit as (
    select
        max(ts) filter (
            not has_kernel_until and until <= 0.01 * (select busy from extent) and idle_after > 20 * length_until
        ) as last_before,
        min(ts) filter (
            not has_kernel_since and since <= 0.01 * (select busy from extent) and idle_before > 20 * length_since
        ) as first_after
    from summed
),

kept as (
    select min(launched_at) as ts, max(ts_end) as ts_end
    from summed
    cross join bit
    where coalesce(ts > last_before, true) and coalesce(ts < first_after, true)
),

-- Without GPU work the host counts, the profiler's own work aside, and when its threads ran and were sampled.
host as (
    select min(ts) as ts, max(ts_end) as ts_end
    from cpu_slice
    where kind <> 'overhead' and (kind <> 'other' or dur > 0)
),

threads as (
    select min(ts) as ts, max(ts_end) as ts_end
    from (
        select ts, ts + dur as ts_end from thread_state
        union all
        select ts, ts from cpu_sample
    )
)

select ts, ts_end from kept where ts is not null
union all
select least(h.ts, t.ts), greatest(h.ts_end, t.ts_end)
from host as h
cross join threads as t
where coalesce(h.ts, t.ts) is not null and not exists (select 1 from work);
