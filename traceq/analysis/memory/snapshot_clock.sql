-- How well a snapshot lies beside a trace.
-- Every segment is asked for by a call of the runtime: where both were recorded, they tell how far the clocks are apart.
-- makes: import_note
insert into import_note
with
asked as (
    select e.ts, c.ts_end
    from allocator_event as e
    asof left join (
        select ts_end from cpu_slice where kind = 'runtime' and name in ('cudaMalloc', 'hipMalloc') order by ts_end
    ) as c on e.ts >= c.ts_end - 1000000
    where e.action = 'segment_alloc'
),

history as (select min(ts) as ts, max(ts) as ts_end, count(*) as events from allocator_event)

select
    $trace_id,
    if(h.ts > t.ts + t.dur or h.ts_end < t.ts, 'data_loss', 'info'),
    'snapshot_clock',
    h.events,
    if(
        h.ts > t.ts + t.dur or h.ts_end < t.ts,
        'events of the memory snapshot lie outside of the trace: it is of another time, or of another machine, and its allocations have no step',
        'events of the memory snapshot, placed by the clock of both; '
        || coalesce(
            (select count(*) from asked where abs(ts - ts_end) < 1000000) || ' of ' || (select count(*) from asked)
            || ' segments come within 1 ms of a call that allocates, at the median '
            || (select round(median(abs(ts - ts_end)) / 1e3, 1) from asked where abs(ts - ts_end) < 1000000) || ' us from it',
            'nothing in the trace shows how well'
        )
    )
from history as h
cross join trace as t
where h.events > 0 and t.utc_origin_ns is distinct from 0 and t.ts is not null;
