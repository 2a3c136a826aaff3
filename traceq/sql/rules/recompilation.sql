-- Idle time in compilation after the first counted step, or in all counted steps when several of them compile.
with
piece as (
    select
        p.step,
        p.ts,
        p.dur,
        coalesce(x.name, c.name) as name,
        coalesce(x.slice_id, c.slice_id) as slice_id,
        p.cause,
        p.gap_id,
        coalesce(x.dur, c.dur) as compile_ns
    from idle_piece as p
    inner join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
    left join cpu_slice as x on x.trace_id = c.trace_id and x.slice_id = c.context_id
    where
        p.trace_id = $trace_id
        and p.device = $device
        and p.cause = 'idle_compile'
        and (x.slice_id is not null or c.kind not in ('runtime', 'overhead'))
        and not regexp_matches(coalesce(x.name, c.name), '(?i)autotun|do_bench|benchmark_all_configs')
)

select step, ts, dur, name, slice_id, dur as claimed, cause, gap_id, compile_ns
from piece
where
    (select count(distinct step) from piece) > 1
    or step > (select min(step) from step where trace_id = $trace_id and excluded is null)
