-- What the trace as a whole needs once its slices are in place.
-- makes: collective, device, trace

update trace set
    ts = extent.ts,
    dur = extent.ts_end - extent.ts
from (
    select min(ts) as ts, max(ts_end) as ts_end
    from (
        -- instants of the profiler itself can lie far outside what was recorded ("Record Window End")
        select min(ts) as ts, max(ts_end) as ts_end from cpu_slice where kind <> 'other' or dur > 0
        union all
        select min(ts), max(ts_end) from gpu_slice
    )
) as extent;

-- A collective is described on the host when it is asked for and on the GPU slice that carries it out: keep the latter.
insert into collective by name
select $trace_id as trace_id, c.* exclude (external_id)
from staging.collective as c
where
    c.slice_id in (select slice_id from gpu_slice)
    or c.external_id is null
    or c.external_id not in (
        select external_id
        from staging.collective
        where external_id is not null and slice_id in (select slice_id from gpu_slice)
    )
order by c.slice_id;

-- Devices that the trace uses and does not describe.
insert into device (trace_id, device, source)
select distinct $trace_id, device, 'unknown'
from gpu_slice
where device not in (select device from device);
