-- The GPU's generation, and how many long kernels of fused attention written for Ampere there are.
-- uses: busy, gpu_generation
select
    any_value(g.capability) as capability,
    count(*) as kernels
from busy as b
cross join gpu_generation as g
where
    b.category = 'compute'
    and b.dur >= $shortest
    and regexp_matches(b.name, '(^|[^a-z_])flash_(fwd|bwd_dq_dk_dv_loop(_seqk_parallel)?)_kernel|fmha_cutlass[FB]_b?f16_\w*sm80|cudnn\w*sdpa_sm80')
