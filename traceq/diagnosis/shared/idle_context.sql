-- Idle time by the outermost slice of the host that says what it was for, a save or a compilation: each has what it filled of the gap.
with
inside as (
    select
        p.step, p.ts, p.cause, p.gap_id,
        coalesce(c.context_id, c.slice_id) as slice_id,
        c.context_id is not null as is_inside,
        sum(k.dur)::bigint as dur,
        max_by(c.kind, {'dur': k.dur, 'slice_id': c.slice_id}) as kind
    from idle_piece as p
    inner join idle_culprit as k using (trace_id, gap_id, cause)
    inner join cpu_slice as c on c.trace_id = k.trace_id and c.slice_id = k.slice_id
    where p.trace_id = $trace_id and p.device = $device and p.cause in ('idle_checkpoint', 'idle_compile')
    group by all
)

select
    i.step, i.ts, i.dur, x.name, i.slice_id, i.dur as claimed, i.cause, i.gap_id,
    x.dur as context_ns, i.kind, i.is_inside
from inside as i
inner join cpu_slice as x on x.trace_id = $trace_id and x.slice_id = i.slice_id
