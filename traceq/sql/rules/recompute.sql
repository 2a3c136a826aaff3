-- Forward work that runs again inside the backward pass. A checkpoint's own node of autograd runs it again as a whole; without
-- re-entering autograd it runs when the first saved tensor is unpacked: in whatever node of the backward pass that is, which then has
-- operators in it that only a forward pass calls, the last of them near the end of it.
with
again as (
    select phase_id, max(ts_end) as until
    from cpu_slice
    where
        trace_id = $trace_id
        and kind = 'op'
        and phase_id is not null
        and regexp_matches(name, '^aten::(linear|conv[123]d|layer_norm|native_layer_norm|rms_norm|group_norm|batch_norm|embedding|scaled_dot_product_attention)(,|$)')
    group by phase_id
),

node as (
    select
        n.slice_id,
        n.name,
        regexp_matches(n.name, 'Checkpoint') as is_checkpoint,
        if(is_checkpoint, n.ts_end, a.until) as until
    from cpu_slice as n
    left join again as a on a.phase_id = n.slice_id
    where
        n.trace_id = $trace_id
        and n.kind = 'op'
        and regexp_matches(n.name, 'Backward\d*(,|$)')
        and until is not null
)

select
    b.step,
    b.ts,
    b.dur,
    b.name,
    b.slice_id,
    b.ledger_dur as claimed,
    'compute' as cause,
    b.slice_id as busy_id,
    n.name as node,
    n.is_checkpoint
from busy_piece as b
inner join cpu_slice as l on l.trace_id = b.trace_id and l.slice_id = b.launch_id
inner join node as n on n.slice_id = l.phase_id
where b.trace_id = $trace_id and b.device = $device and b.category = 'compute' and l.ts < n.until
