-- Runs of small matrix products of the same kernel and size, one after another on a stream with nothing between them: they could
-- be one batched product, which fills the GPU. The part that can go is the share of the GPU that each leaves empty.
with
kernel as (
    select
        b.slice_id,
        b.stream,
        b.ts,
        k.sm_coverage,
        k.family in ('cublas', 'nvjet', 'cutlass', 'hipblas') and b.dur < $longest as is_small,
        hash(b.name, k.blocks) as hash
    from busy_piece as b
    inner join kernel_occupancy as k using (trace_id, slice_id)
    where b.trace_id = $trace_id and b.device = $device and b.category = 'compute'
),

numbered as (
    select
        slice_id,
        stream,
        sm_coverage,
        is_small,
        hash,
        row_number() over same - row_number() over (partition by stream, is_small, hash order by ts, slice_id) as run
    from kernel
    window same as (partition by stream order by ts, slice_id)
),

run as (
    select stream, hash, run, count(*) as run_length
    from numbered
    where is_small
    group by stream, hash, run
    having count(*) >= $shortest_run
)

select
    b.step,
    b.ts,
    b.dur,
    b.name,
    b.slice_id,
    b.ledger_dur * (1 - coalesce(n.sm_coverage, 0.5)) as claimed,
    'compute' as cause,
    b.slice_id as busy_id,
    r.run_length,
    n.sm_coverage
from run as r
inner join numbered as n on n.stream is not distinct from r.stream and n.hash = r.hash and n.run = r.run and n.is_small
inner join busy_piece as b on b.trace_id = $trace_id and b.slice_id = n.slice_id
where b.device = $device and claimed > 0
