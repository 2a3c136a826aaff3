-- Operators whose floating-point operations are known, the GPU time of their kernels, and what of it has a known peak. Those of
-- a convolution follow from its settings, too, which older profilers did not record. Of the operators that are around one another
-- in a convolution one is counted: PyTorch before 1.11 had no convolution_backward.
with
convolution as (
    -- Names recur: each is looked at once.
    select coalesce(sum(slices), 0)::bigint as number
    from (select name, count(*) as slices from cpu_slice where trace_id = $trace_id and kind = 'op' group by name)
    where
        regexp_matches(name, '^aten::(_convolution|convolution_backward|(cudnn|mkldnn|miopen)_convolution(_transpose)?_backward)$')
),

efficiency as (
    select count(*) as entries, count(mfu) as known
    from step_mfu
    where trace_id = $trace_id
)

select
    count(*) as operators_with_flops,
    coalesce(sum(c.gpu_dur), 0)::bigint as flops_dur,
    coalesce(sum(c.gpu_dur) filter (c.peak is not null), 0)::bigint as flops_dur_with_peak,
    count(*) filter (c.kind = 'convolution') as convolutions_with_flops,
    (select number from convolution) as convolutions,
    (select entries from efficiency) as mfu_entries,
    (select known from efficiency) as mfu_entries_known
from operator_cost as c
where c.trace_id = $trace_id and c.flops > 0
