-- Normalisations and activations made of several kernels: on a stream, among elementwise kernels and reductions one after
-- another, the kernels that only such a formula has (rsqrt after a mean, tanh after a power, erf, sigmoid and a product). Of k
-- kernels of about the same tensor a fused one leaves the time of one.
-- title: Unfused normalisations and activations
-- finds: Layer or RMS norms, GELU and SiLU written as a formula, in which each operation is a separate kernel: a power, a mean,
--   an addition, a reciprocal square root and products for a norm, and so on.
-- matters: Each kernel reads and writes the whole tensor. A single kernel does so once; it also keeps less for the backward
--   pass and needs a fraction of the launches.
-- measured: Per stream, among elementwise kernels, reductions and copies one after another, those that occur only in such a
--   formula: a root at most five kernels after a mean or variance (norm), tanh as soon after a power, or erf (GELU), sigmoid
--   directly before a product (SiLU, quick GELU), each with the kernels around it that belong to the formula. Of k kernels the
--   share 1 - 1/k is claimed. Only forward passes are recognised. Shares: 0.4 low, 0.8 likely, 1 high.
-- try: torch.nn.functional.layer_norm, rms_norm, gelu(approximate="tanh") and silu, fused kernels of Liger, Apex or
--   Transformer Engine, or torch.compile on the module.
-- references: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.rms_norm.html
--   https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
-- fix: {% set patterns = pieces | map(attribute='pattern') | unique | list -%} {% set what = {'norm': 'norm', 'gelu': 'GELU',
--   'silu': 'sigmoid times its input'} -%} {% set instead = {'norm': '`torch.nn.functional.rms_norm(x, x.shape[-1:], weight,
--   eps)`, or `layer_norm`', 'gelu': '`torch.nn.functional.gelu(x, approximate="tanh")`', 'silu':
--   '`torch.nn.functional.silu(x)`'} -%} Use one kernel for each {% for each in patterns %}{{ what[each] }}{% if not loop.last
--   %} and {% endif %}{% endfor %}: {% for each in patterns %}{{ instead[each] }}{% if not loop.last %}; {% endif %}{% endfor
--   %}. It now takes {{ '%.0f' % worst.kernels }} kernels and, in all, {{ of_step(claimed_ns) }} more than one would. {% if
--   program.can_compile and not program.is_compiled %}`torch.compile(module)` does the same for any formula.{% endif %}
-- confidence: medium
-- reason: The names of consecutive kernels on a stream match such a formula.
-- wrong-if: The kernels work on different tensors and only happen to follow one another.
-- same-fix: fusion
-- needs: gpu, steps
-- low: 0.4
-- likely: 0.8
-- high: 1.0
-- uses: busy
-- categories: compute
-- heading: Use one kernel for each {{ {'norm': 'normalisation', 'gelu': 'GELU', 'silu': 'SiLU'}[worst.pattern] }}
-- for: pytorch
-- only-with: kernel_name: regexp_matches(name, '[^a-z_]r?sqrt_kernel|[^a-z_]tanh_kernel|[^a-z_]erf_kernel|[^a-z_]sigmoid_kernel')
with
-- Names are few and long, kernels many: names are looked at once each, and sorted are kernels without them.
named as (
    select
        name,
        regexp_matches(name, 'MeanOps|WelfordOps') as is_mean,
        regexp_matches(name, 'pow_tensor|pow_scalar') as is_power,
        regexp_matches(name, '[^a-z_]r?sqrt_kernel') as is_root,
        regexp_matches(name, '[^a-z_]tanh_kernel') as is_tanh,
        regexp_matches(name, '[^a-z_]erf_kernel') as is_erf,
        regexp_matches(name, '[^a-z_]sigmoid_kernel') as is_sigmoid,
        regexp_matches(name, 'MulFunctor') as is_product,
        regexp_matches(name, 'multi_tensor_apply') as is_several
    from (select distinct name from gpu_slice where trace_id = $trace_id and device = $device and kind = 'kernel')
),

kernel as (
    select
        b.slice_id, b.stream, b.ts,
        k.family in ('elementwise', 'reduce', 'copy') and not n.is_several as is_small,
        n.is_mean, n.is_power, n.is_root, n.is_tanh, n.is_erf, n.is_sigmoid, n.is_product
    from busy as b
    inner join kernel_occupancy as k using (trace_id, slice_id)
    inner join named as n on n.name = b.name
    where
        b.category = 'compute'
        and exists (select 1 from named where is_root or is_tanh or is_erf or is_sigmoid)
),

-- A run of small kernels is identified by how many others came before.
numbered as (
    select
        * exclude (ts),
        row_number() over same as number,
        row_number() over same - row_number() over (partition by stream, is_small order by ts, slice_id) as run
    from kernel
    window same as (partition by stream order by ts, slice_id)
),

surrounded as (
    select
        stream, run, number, is_root, is_tanh, is_erf, is_sigmoid,
        max(if(is_mean, number, null)) over before as mean_at,
        max(if(is_power, number, null)) over before as power_at,
        lead(is_product) over same as product_follows
    from numbered
    where is_small
    window
        same as (partition by stream, run order by number),
        before as (partition by stream, run order by number rows between 5 preceding and 1 preceding)
    qualify is_root or is_tanh or is_erf or is_sigmoid
),

formula as (
    select 'norm' as pattern, stream, run, number, least(mean_at, power_at) as starts, number + 2 as ends
    from surrounded
    where is_root and mean_at is not null
    union all
    select 'gelu', stream, run, number, coalesce(if(is_tanh, power_at, null), number) - 1, number + 3
    from surrounded
    where is_tanh and power_at is not null or is_erf
    union all
    select 'silu', stream, run, number, number - 1, number + 1
    from surrounded
    where is_sigmoid and product_follows
),

-- Kernels of the same run only: others between would have begun another one.
member as (
    select f.pattern, f.number as formula, n.slice_id, n.stream
    from (select pattern, stream, run, number, unnest(range(starts, ends + 1)) as at from formula) as f
    inner join numbered as n on n.stream is not distinct from f.stream and n.number = f.at and n.run = f.run
    where n.is_small
    qualify row_number() over (partition by n.slice_id order by f.number) = 1
),

sized as (
    select slice_id, pattern, count(*) over (partition by stream, pattern, formula) as kernels
    from member
)

select
    b.step, b.ts, b.dur, b.name, b.slice_id,
    b.ledger_dur * (1 - 1 / s.kernels) as claimed,
    'compute' as cause,
    -- kernels go with their launches, so that the host gets as much faster: no replay of kernels alone bounds it
    'fusion' as scenario, b.slice_id as busy_id, s.pattern, s.kernels
from sized as s
inner join busy as b on b.slice_id = s.slice_id
where s.kernels > 1
