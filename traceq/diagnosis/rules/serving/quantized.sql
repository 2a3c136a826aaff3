-- Kernels and operators whose names, or types, say that they compute with fewer than 16 bits; the longest first.
-- uses: kernel_name
with
-- of the cache of keys and values the type is in many names, whatever it is: 0 says that it is not quantised
kernel as (
    select name, regexp_replace(name, 'Fp8KVCacheDataType\)?\d*', '', 'g') as told
    from kernel_name
),

found as (
    select name
    from kernel
    where
        regexp_matches(told, '(?i)mxfp|nvfp4|w[48]a(4|8|16)|a(4|8|16)w[48]|wna16|awq|gptq|marlin|machete|exl[23]|bitblas|kgemm_4bit|kdequant|mul_mat_(vec_)?q|qgemm|[^a-z]imma|[^a-z]i(8816|16832)')
        or (
            regexp_matches(told, '(?i)fp[48]|e4m3|e5m2|e2m1|u?int[48]([^_\d]|$)|[^a-z]i8[^a-z\d]|^nvjet_(sm\d+_)?[a-z]*[qo]')
            and regexp_matches(told, '(?i)gemm|_mm|matmul|linear|moe|expert|nvjet')
        )
)

select name
from found
union all
select c.name
from operator_cost as x
inner join cpu_slice as c using (trace_id, slice_id)
where x.trace_id = $trace_id and x.kind = 'matmul' and x.dtype in ('fp8', 'int8', 'uint8')
union all
select name
from cpu_slice
where
    trace_id = $trace_id
    and kind = 'op'
    and regexp_matches(name, '^(aten::_(scaled_mm|int_mm|weight_int\dpack_mm)|quantized::|torchao::|bitsandbytes::)')
limit 1
