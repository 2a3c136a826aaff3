-- The bias of convolutions that a batch norm follows at once: its addition, and its gradient, in proportion to how many of the
-- convolutions with a bias are such.
-- title: Convolutions with a bias before a batch norm
-- finds: The addition of a convolution's bias, and the sum that is its gradient, where a batch norm follows directly: it
--   subtracts the mean, and with it any bias.
-- matters: The bias has no effect, but adding it and computing its gradient each read a whole tensor of activations.
-- measured: Top-level operators in the order of the host: aten::conv1d, conv2d or conv3d directly before aten::batch_norm.
--   Claimed are the kernels of the aten::add_ within such a convolution, and of aten::sum inside aten::convolution_backward in
--   proportion to how many of the convolutions with an addition come before a batch norm. Where cuDNN adds the bias within its
--   kernel there is nothing to claim. Shares: 0.6 low, 1 likely, 1 high.
-- try: nn.Conv2d(..., bias=False) before nn.BatchNorm2d. For inference, fold the batch norm into the convolution
--   (torch.nn.utils.fuse_conv_bn_eval).
-- references: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
-- fix: Leave the bias out of convolutions that are followed by a batch norm: `nn.Conv2d(..., bias=False)`. Adding it {%- if
--   program.trains %} and summing its gradient {%- endif %} takes {{ of_step(claimed_ns) }}.
-- confidence: high
-- reason: The additions run within convolutions whose next operator is a batch norm.
-- wrong-if: The batch norm does not normalise over the batch (evaluation mode): then fold it into the convolution.
-- heading: Leave out the bias of convolutions before a batch norm
-- for: pytorch
-- needs: gpu, steps, launches, operators
-- low: 0.6
-- uses: busy
-- categories: compute
-- only-with: host_slice_name: kind = 'op' and name = 'aten::batch_norm'
with
top as (
    select slice_id, name, lead(name) over (partition by thread_id order by ts, slice_id) as next_name
    from cpu_slice
    where
        trace_id = $trace_id
        and kind = 'op'
        and operator_id is null
        and exists (select 1 from cpu_slice where trace_id = $trace_id and kind = 'op' and name = 'aten::batch_norm')
),

convolution as (
    select slice_id, next_name in ('aten::batch_norm', 'aten::sync_batch_norm') as is_normalised
    from top
    where name in ('aten::conv1d', 'aten::conv2d', 'aten::conv3d', 'aten::convolution')
),

-- kernels with the operators around them, and the sum or addition that is the bias's
kernel as (
    select b.step, b.ts, b.dur, b.name, b.slice_id, b.ledger_dur, o.name as operator, o.operator_id as at
    from busy as b
    inner join kernel_occupancy as k using (trace_id, slice_id)
    inner join cpu_slice as l on l.trace_id = b.trace_id and l.slice_id = b.launch_id
    inner join cpu_slice as o on o.trace_id = b.trace_id and o.slice_id = l.operator_id
    where
        b.category = 'compute'
        and k.family in ('elementwise', 'reduce')
        and o.name in ('aten::add_', 'aten::sum')
        and exists (from convolution)
),

climbed as (
    select k.*, a.name as around, a.slice_id as first, a.operator_id as second, c.operator_id as third
    from kernel as k
    inner join cpu_slice as a on a.trace_id = $trace_id and a.slice_id = k.at
    left join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = a.operator_id
),

addition as (
    select k.*, v.slice_id as convolution, v.is_normalised
    from climbed as k
    inner join convolution as v on v.slice_id = coalesce(k.third, k.second, k.first)
    where k.operator = 'aten::add_'
),

normalised as (
    select count(distinct convolution) filter (is_normalised) / count(distinct convolution) as share
    from addition
)

select
    step, ts, dur, name, slice_id, ledger_dur as claimed, 'compute' as cause, slice_id as busy_id,
    'addition' as work
from addition
where is_normalised
union all
select k.step, k.ts, k.dur, k.name, k.slice_id, k.ledger_dur * c.share, 'compute', k.slice_id, 'gradient'
from climbed as k
cross join normalised as c
where k.operator = 'aten::sum' and k.around = 'aten::convolution_backward' and c.share > 0
