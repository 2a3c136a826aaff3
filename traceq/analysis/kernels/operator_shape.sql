-- The shapes, types and settings recorded with operators whose work follows from them (PyTorch: record_shapes), once per
-- signature: a trace repeats few of them very often. Ranges of emit_nvtx have shapes only.
-- reads: graph_operator
-- makes: _costed_operator, _element_type, _operand, _product_name, _signature

-- `first`: the operand the rule begins with; of elementwise and norm the first one read. `writes`: outputs as large as the result.
create temp table _costed_name as
from (values
    ('aten::mm', 'matmul', 'matmul', 0, 1),
    ('aten::bmm', 'matmul', 'matmul', 0, 1),
    ('aten::mv', 'matmul', 'matmul', 0, 1),
    ('aten::matmul', 'matmul', 'matmul', 0, 1),
    ('aten::addmm', 'matmul', 'matmul', 1, 1),
    ('aten::_addmm_activation', 'matmul', 'matmul', 1, 1),
    ('aten::addmv', 'matmul', 'matmul', 1, 1),
    ('aten::baddbmm', 'matmul', 'matmul', 1, 1),
    ('aten::_scaled_mm', 'matmul', 'matmul', 0, null),
    ('aten::_int_mm', 'matmul', 'matmul', 0, null),
    ('aten::linear', 'matmul', 'linear', 0, 1),
    ('aten::convolution', 'convolution', 'convolution', 0, 1),
    ('aten::_convolution', 'convolution', 'convolution', 0, 1),
    ('aten::convolution_backward', 'convolution', 'convolution_backward', 0, 1),
    ('aten::_scaled_dot_product_flash_attention', 'attention', 'attention', 0, 1),
    ('aten::_scaled_dot_product_flash_attention_for_cpu', 'attention', 'attention', 0, 1),
    ('aten::_scaled_dot_product_efficient_attention', 'attention', 'attention', 0, 1),
    ('aten::_scaled_dot_product_cudnn_attention', 'attention', 'attention', 0, 1),
    ('aten::_scaled_dot_product_flash_attention_backward', 'attention', 'attention_backward', 1, 1),
    ('aten::_scaled_dot_product_flash_attention_for_cpu_backward', 'attention', 'attention_backward', 1, 1),
    ('aten::_scaled_dot_product_efficient_attention_backward', 'attention', 'attention_backward', 1, 1),
    ('aten::_scaled_dot_product_cudnn_attention_backward', 'attention', 'attention_backward', 1, 1),
    -- heads after the sequence
    ('flash_attn::_flash_attn_forward', 'attention', 'attention_by_token', 0, 1),
    ('FlashAttnFunc', 'attention', 'attention_by_token', 0, 1),
    ('flash_attn::_flash_attn_backward', 'attention', 'attention_by_token_backward', 1, 1),
    -- of servers: the output first, or changed in place with the residual
    ('_C::silu_and_mul', 'elementwise', 'like_first', 1, 1),
    ('_C::gelu_and_mul', 'elementwise', 'like_first', 1, 1),
    ('_C::gelu_tanh_and_mul', 'elementwise', 'like_first', 1, 1),
    ('sgl_kernel::silu_and_mul', 'elementwise', 'like_first', 1, 1),
    ('sgl_kernel::gelu_and_mul', 'elementwise', 'like_first', 1, 1),
    ('sgl_kernel::gelu_tanh_and_mul', 'elementwise', 'like_first', 1, 1),
    ('_C::rms_norm', 'norm', 'like_first', 1, 1),
    ('sgl_kernel::rmsnorm', 'norm', 'like_first', 1, 1),
    ('_C::fused_add_rms_norm', 'norm', 'like_first', 0, 2),
    ('sgl_kernel::fused_add_rmsnorm', 'norm', 'like_first', 0, 2),
    ('aiter::add_rmsnorm', 'norm', 'like_first', 1, 1),
    ('aiter::rmsnorm2d_fwd_with_add_ck', 'norm', 'like_first', 1, 1),
    ('aten::copy_', 'elementwise', 'like_first', 1, 1),
    ('aten::fill_', 'elementwise', 'like_first', 1, 1),
    ('aten::zero_', 'elementwise', 'like_first', 1, 1),
    ('aten::native_layer_norm', 'norm', 'like_first', 0, 1),
    ('aten::native_layer_norm_backward', 'norm', 'like_first', 0, 1),
    ('aten::native_group_norm', 'norm', 'like_first', 0, 1),
    ('aten::native_batch_norm', 'norm', 'like_first', 0, 1),
    ('aten::native_batch_norm_backward', 'norm', 'like_first', 0, 1),
    ('aten::cudnn_batch_norm', 'norm', 'like_first', 0, 1),
    ('aten::cudnn_batch_norm_backward', 'norm', 'like_first', 0, 1),
    ('aten::miopen_batch_norm', 'norm', 'like_first', 0, 1),
    ('aten::miopen_batch_norm_backward', 'norm', 'like_first', 0, 1),
    ('aten::_softmax', 'norm', 'like_first', 0, 1),
    ('aten::_softmax_backward_data', 'norm', 'like_first', 0, 1),
    ('aten::_log_softmax', 'norm', 'like_first', 0, 1),
    ('aten::_log_softmax_backward_data', 'norm', 'like_first', 0, 1)
) as t (name, kind, rule, first, writes)
union all
select 'aten::' || name || suffix, 'elementwise', rule, 0, 1
from (
    select unnest([
        'add', 'sub', 'mul', 'div', 'pow', 'neg', 'abs', 'exp', 'log', 'log2', 'sqrt', 'rsqrt', 'reciprocal', 'sin', 'cos', 'tanh',
        'sigmoid', 'relu', 'gelu', 'silu', 'elu', 'leaky_relu', 'hardtanh', 'threshold', 'clamp', 'clamp_min', 'clamp_max', 'addcmul',
        'addcdiv', 'lerp', 'nan_to_num'
    ]) as name
)
cross join (values ('', 'broadcast'), ('_', 'like_first')) as s (suffix, rule)
union all
select 'aten::' || unnest([
    'rsub', 'maximum', 'minimum', 'softplus', 'threshold_backward', 'gelu_backward', 'silu_backward', 'sigmoid_backward',
    'tanh_backward', 'leaky_relu_backward'
]), 'elementwise', 'broadcast', 0, 1;

-- Operators that compute products of which the trace may not tell how many.
create temp table _product_name as
select
    name,
    case
        when regexp_matches(
            name,
            '^aten::_?(mm|bmm|mv|dot|matmul|linear|addmm(_activation)?|addmv|addbmm|baddbmm|scaled_mm|int_mm|(scaled_)?grouped_mm|(cudnn|miopen)_rnn(_backward)?)_?$'
        ) then 'matmul'
        when regexp_matches(name, '^aten::\w*conv(olution|_?\d|_depthwise|_transpose|_tbc|_dilated)') then 'convolution'
        when regexp_matches(name, '(?i)flash_?attn|flash_(fwd|bwd)|(flash|efficient|cudnn|fused|paged|unified)_attention') then 'attention'
        -- servers run them as one operator, whose shapes do not tell which experts are used
        when regexp_matches(name, '(?i)::\w*(moe_forward|fused_moe|fused_experts|moe_runner|moe_kernel)') then 'experts'
    end as kind
from (select name from cpu_slice where kind = 'op' union select name from graph_operator)
where kind is not null;

create temp table _element_type as
from (values
    ('double', 'fp64', 8),
    ('float', 'fp32', 4),
    ('c10::Half', 'fp16', 2),
    ('c10::BFloat16', 'bf16', 2),
    ('c10::bfloat16', 'bf16', 2),
    ('c10::Float8_e4m3fn', 'fp8', 1),
    ('c10::Float8_e5m2', 'fp8', 1),
    ('c10::Float8_e4m3fnuz', 'fp8', 1),
    ('c10::Float8_e5m2fnuz', 'fp8', 1),
    ('signed char', 'int8', 1),
    ('unsigned char', 'uint8', 1),
    ('bool', 'bool', 1),
    ('short int', 'int16', 2),
    ('short', 'int16', 2),
    ('int', 'int32', 4),
    ('long int', 'int64', 8),
    ('long', 'int64', 8)
) as t (type, dtype, size);

-- Operators that may have a cost, with the key of their signature.
create temp table _costed_operator as
select *, hash(name, recorded) as signature
from (
    select
        slice_id, operator_id, ts, name,
        try(json_extract_string(args, ['$."Input Dims"', '$."Input type"', '$."Concrete Inputs"'])) as recorded
    from (
        select slice_id, operator_id, ts, name, args from cpu_slice where kind = 'op'
        union all
        select slice_id, operator_id, ts, name, args from graph_operator
    )
    where args is not null and name in (select name from _costed_name)
)
where recorded[1] is not null;

-- Elements of a shape; NULL when one of its sizes is not known. Doubles, for a damaged size must not overflow.
create temp macro _volume(shape) as
    case when list_aggregate(shape, 'count') = len(shape) then list_aggregate([1] || shape, 'product') end;

-- Of attention: the position of the setting that says whether it is causal.
create temp table _causal_position as
from (values
    ('aten::_scaled_dot_product_flash_attention', 4),
    ('aten::_scaled_dot_product_flash_attention_for_cpu', 4),
    ('aten::_scaled_dot_product_efficient_attention', 6),
    ('aten::_scaled_dot_product_cudnn_attention', 6),
    ('aten::_scaled_dot_product_flash_attention_backward', 11),
    ('aten::_scaled_dot_product_flash_attention_for_cpu_backward', 7),
    ('aten::_scaled_dot_product_efficient_attention_backward', 11),
    ('aten::_scaled_dot_product_cudnn_attention_backward', 14),
    ('flash_attn::_flash_attn_forward', 5)
) as t (name, causal_at);

create temp table _signature as
select o.signature, n.kind, n.rule, n.first, n.writes, c.causal_at
from (select distinct signature, name from _costed_operator) as o
inner join _costed_name as n using (name)
left join _causal_position as c using (name);

create temp table _operand as
with
signature as (
    select
        signature,
        -- lists of texts: an operand may be a number, a list of numbers or a list of tensors
        try(from_json(recorded[1], '["JSON"]')) as shapes,
        try(from_json(recorded[2], '["JSON"]')) as types,
        try(from_json(recorded[3], '["JSON"]')) as settings,
        recorded[2] is null as is_untyped
    from (select signature, any_value(recorded) as recorded from _costed_operator group by signature)
),

operand as (
    select
        signature,
        position,
        case
            -- settings may follow that have no shape
            when position >= len(shapes) then []::double[]
            when regexp_full_match(shapes[position + 1]::varchar, '\[\s*(-?\d+(\s*,\s*-?\d+)*)?\s*\]')
                then try_cast(shapes[position + 1]::varchar as bigint[])::double[]
        end as shape,
        types[position + 1] ->> '$' as type,
        is_untyped,
        settings[position + 1] ->> '$' as setting
    from signature
    cross join unnest(range(greatest(len(shapes), coalesce(len(settings), 0)))) as p (position)
)

select
    o.signature, o.position, t.dtype, o.setting, t.size,
    -- a number has a shape of no dimensions too, but no type of the list
    if(is_tensor, o.shape, null) as shape,
    if(is_tensor, _volume(o.shape), null) as elements,
    -- a tensor, or several, of which that is not known
    coalesce(o.shape is null or not is_tensor and (len(o.shape) > 0 or contains(o.type, '::')), false) as is_unknown
from (
    select
        *
        replace (case when coalesce(list_min(shape), 0) >= 0 then shape end as shape),
        coalesce(if(is_untyped, len(shape) > 0, type in (select type from _element_type)), false) as is_tensor
    from operand
) as o
left join _element_type as t using (type);
