-- How many slices of GPUs and of the host, and segments of the ledger, may be drawn of [$detail_ts, $detail_end).
select
    (select count(*) from timeline_host where ts < $detail_end and ts_end > $detail_ts)
    + (
        select count(*)
        from gpu_slice as g
        inner join timeline_track as t on t.side = 'gpu' and t.device = g.device and t.number = coalesce(g.stream, -1)
        where g.trace_id = $trace_id and g.ts < $detail_end and g.ts_end > $detail_ts
    )
    + (
        select count(*)
        from device_activity as a
        inner join timeline_track as t on t.side = 'ledger' and t.device = a.device
        where a.trace_id = $trace_id and a.ts < $detail_end and a.ts + a.dur > $detail_ts
    ) as slices
