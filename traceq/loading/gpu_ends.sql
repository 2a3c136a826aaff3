-- A stream runs one thing after the other: what lasts beyond the end of work that ran after it has a duration that cannot be right (a
-- counter that overflowed, a time of the end that came late), and ends where that work begins at the latest. Inside graphs, of one
-- call that launches several, and of migrations, the stream says less.
select slice_id, dur, next_ts - ts as possible
from (
    select
        slice_id, ts, dur, correlation_id,
        lead(ts) over w as next_ts,
        lead(ts + dur) over w as next_end,
        lead(correlation_id) over w as next_correlation_id
    from staging.gpu_slice
    where stream is not null and graph_id is null and graph_node_id is null and kind <> 'graph' and copy_kind is distinct from 'um'
    window w as (partition by pid, device, context, stream order by ts, ts + dur)
)
where next_end < ts + dur and (correlation_id <> next_correlation_id or correlation_id is null or next_correlation_id is null);
