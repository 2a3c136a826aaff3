-- Compute without that of experts, whose weights stand in no shape: which of them a step reads follows from its tokens.
-- uses: busy, kernel_name
with
expert as materialized (
    select name
    from kernel_name
    where regexp_matches(name, '(?i)(^|[^a-z])moe|fused_?moe|expert|matmul_ogs|grouped_?(gemm|mm)|group_gemm|_bitmatrix')
)

select b.*, k.family
from busy as b
inner join kernel_occupancy as k using (trace_id, slice_id)
left join graph_kernel as g using (trace_id, slice_id)
where
    b.category = 'compute'
    and k.family <> 'routing'
    and b.name not in (from expert)
    and not coalesce(regexp_matches(g.operator, '(?i)moe|expert'), false)
