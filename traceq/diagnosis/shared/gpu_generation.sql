-- Compute capability of the device, 9.0 or 10.0 where only names of its kernels tell (nvjet without a number: of cuBLASLt for Hopper,
-- with 2cta for Blackwell); NULL where nothing does, and for other makers' GPUs. One row.
-- uses: kernel_name
select
    coalesce(
        any_value(m.compute_capability),
        case
            when bool_or(regexp_matches(n.name, '(?i)sm_?10[03]\D|^nvjet\w*_2cta_')) then '10.0'
            when bool_or(regexp_matches(n.name, '(?i)sm_?90\D|^nvjet_[a-z]{3,5}_\d')) then '9.0'
        end
    ) as capability
from kernel_name as n
left join device_model as m on m.trace_id = $trace_id and m.device = $device
