-- What torch.nn.DataParallel costs the critical device: replication, scattering and gathering, and idle time while its threads take turns.
-- uses: idle, busy
-- categories: communication, copy_d2h, copy_h2d, copy_other, idle_launch, idle_launch_latency, idle_python, idle_sync
with
part as (
    select thread_id, ts, max(ts_end) over (partition by thread_id order by ts, slice_id rows unbounded preceding) as ts_end, name
    from cpu_slice
    where
        trace_id = $trace_id
        and kind in ('op', 'annotation')
        and (
            name in ('DataParallel.forward', 'Scatter', 'ScatterBackward', 'Gather', 'GatherBackward', 'Broadcast', 'BroadcastBackward')
            or regexp_matches(name, '^(DataParallel.forward|(Scatter|Gather|Broadcast|ReduceAddCoalesced)(Backward)?(,|$)|comm::(broadcast|scatter|gather|reduce_add))')
        )
),

moving as (
    select b.step, b.ts, b.dur, b.name, b.slice_id, b.category, b.ledger_dur, l.thread_id, l.ts as launched
    from busy as b
    inner join cpu_slice as l on l.trace_id = b.trace_id and l.slice_id = b.launch_id
    where b.category in ('communication', 'copy_h2d', 'copy_d2h', 'copy_other') and b.ledger_dur > 0
),

late as (
    select step, ts, dur, cpu_slice_id, cause, gap_id, thread_id
    from idle
    where cause in ('idle_launch', 'idle_python', 'idle_sync', 'idle_launch_latency') and thread_id is not null
)

select
    b.step, b.ts, b.dur, b.name, b.slice_id, b.ledger_dur as claimed, b.category as cause, null as gap_id, b.slice_id as busy_id, p.name as part
from moving as b
asof inner join part as p on p.thread_id = b.thread_id and b.launched >= p.ts
where b.launched < p.ts_end
union all
select i.step, i.ts, i.dur, c.name, i.cpu_slice_id, least(i.dur, p.ts_end - i.ts), i.cause, i.gap_id, null, p.name
from late as i
asof inner join part as p on p.thread_id = i.thread_id and i.ts >= p.ts
left join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = i.cpu_slice_id
where i.ts < p.ts_end
