-- The type of the operands of matrix kernels, as their names tell: for operators recorded without types (ranges of emit_nvtx).
-- Nothing where a name tells none, or where output and operands differ in size (8 bits).
-- reads: _signature_cost, kernel_occupancy
-- makes: _kernel_operand

create temp table _kernel_operand as
select
    name,
    case
        when regexp_matches(name, '(?i)e4m3|e5m2|fp8|int8|i8816|i168(16|32)|^nvjet_(sm\d+_)?[a-z]*[qo]|fp4|e2m1') then null
        -- nvjet_tst: operands in bf16, sums in fp32, result in bf16; h is fp16
        when regexp_matches(name, '(?i)bf16|bfloat16|^nvjet_(sm\d+_)?t') then 'bf16'
        when regexp_matches(name, '(?i)fp?16|half|hgemm|[^a-z]h(884|1688|16816)|^nvjet_(sm\d+_)?h') then 'fp16'
        when regexp_matches(name, '(?i)dgemm|fp?64|[^a-z]d884|dmma|double') then 'fp64'
        when regexp_matches(name, '(?i)[cz]gemm|complex') then null
        when regexp_matches(name, '(?i)sgemm|tf32|f32f32_f32f32|simt_s|tensorop_s1688') then 'fp32'
    end as dtype
from (
    select distinct g.name
    from gpu_slice as g
    inner join kernel_occupancy as k using (slice_id)
    -- what is recorded with types needs none
    where
        k.family in ('cublas', 'cutlass', 'nvjet', 'cudnn', 'flash_attention')
        and exists (from _signature_cost where dtype is null and flops is not null)
);
