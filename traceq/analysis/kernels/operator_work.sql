-- What operators compute and move, a formula a kind. They are those of torch.utils.flop_counter; docs/metrics.md lists them.
-- reads: _operand, _signature
-- makes: _signature_cost

-- Each dimension, the last first, as broadcasting has it: nothing next to one is nothing, else the longer one.
create temp macro _broadcast(a, b) as
    list_transform(
        range(1, greatest(len(a), len(b)) + 1),
        lambda i: if(a[-i] = 0 or b[-i] = 0, 0, greatest(coalesce(a[-i], 1), coalesce(b[-i], 1)))
    );

create temp table _matmul as
with
operands as (
    select
        s.signature, s.writes, a.size,
        a.elements + b.elements as read,
        case when len(a.shape) = 1 then [1] || a.shape else a.shape end as a,
        case
            when s.rule = 'linear' then [b.shape[2], b.shape[1]]
            when len(b.shape) = 1 then b.shape || [1]
            else b.shape
        end as b,
        -- added to the product, unless times nothing
        bias.shape as bias_shape,
        try_cast(beta.setting as double) as beta,
        s.first = 1 and coalesce(try_cast(beta.setting as double), 1) <> 0 as is_added,
        if(is_added, bias.elements, 0) as more,
        if(is_added, bias.elements * bias.size, 0) as read_more
    from _signature as s
    inner join _operand as a on a.signature = s.signature and a.position = s.first
    inner join _operand as b on b.signature = s.signature and b.position = s.first + 1
    left join _operand as bias on bias.signature = s.signature and bias.position = 0
    left join _operand as beta on beta.signature = s.signature and beta.position = 3
    where s.rule in ('matmul', 'linear') and len(a.shape) > 0 and len(b.shape) > 0
)

select
    signature,
    2 * _volume(_broadcast(a[:-3], b[:-3])) * a[-2] * a[-1] * b[-1] as flops,
    read + writes * _volume(_broadcast(a[:-3], b[:-3])) * a[-2] * b[-1] as moved,
    -- a matrix that is added counts only if the trace says times what
    if(is_added and beta is null and len(bias_shape) > 1, null, moved + more) as elements,
    moved * size + read_more as bytes,
    -- matrices that all meet the same one are rows of one product
    if(len(b) = 2, 1, _volume(_broadcast(a[:-3], b[:-3]))) as batch,
    a[-2] * if(len(b) = 2, _volume(a[:-3]), 1) as m,
    b[-1] as n,
    a[-1] as k
from operands
where a[-1] = b[-2];

create temp table _convolution as
with
settings as (
    select
        s.signature,
        x.size,
        x.shape as x,
        w.shape as w,
        x.elements + w.elements as read,
        try_cast(stride.setting as bigint[])::double[] as stride,
        try_cast(padding.setting as bigint[])::double[] as padding,
        try_cast(dilation.setting as bigint[])::double[] as dilation,
        try_cast(transposed.setting as boolean) as transposed,
        try_cast(added.setting as bigint[])::double[] as added,
        try_cast(groups.setting as bigint) as groups
    from _signature as s
    inner join _operand as x on x.signature = s.signature and x.position = 0
    inner join _operand as w on w.signature = s.signature and w.position = 1
    inner join _operand as stride on stride.signature = s.signature and stride.position = 3
    inner join _operand as padding on padding.signature = s.signature and padding.position = 4
    inner join _operand as dilation on dilation.signature = s.signature and dilation.position = 5
    inner join _operand as transposed on transposed.signature = s.signature and transposed.position = 6
    inner join _operand as added on added.signature = s.signature and added.position = 7
    inner join _operand as groups on groups.signature = s.signature and groups.position = 8
    where s.rule = 'convolution' and len(x.shape) > 2 and len(w.shape) = len(x.shape)
),

result as (
    select
        *,
        list_transform(
            range(1, len(x) - 1),
            -- a setting of one number holds for every dimension
            lambda i: if(
                transposed,
                (x[i + 2] - 1) * coalesce(stride[i], stride[1]) - 2 * coalesce(padding[i], padding[1])
                + coalesce(dilation[i], dilation[1]) * (w[i + 2] - 1) + coalesce(added[i], added[1], 0) + 1,
                floor(
                    (x[i + 2] + 2 * coalesce(padding[i], padding[1]) - coalesce(dilation[i], dilation[1]) * (w[i + 2] - 1) - 1)
                    / nullif(coalesce(stride[i], stride[1]), 0)
                ) + 1
            )
        ) as y
    from settings
)

select
    signature,
    -- every weight meets every position of the output of its image, transposed of the input
    2 * x[1] * _volume(if(transposed, x[3:], y)) * _volume(w) as flops,
    (read + x[1] * if(transposed, w[2] * groups, w[1]) * _volume(y)) * size as bytes,
    -- as an implicit product: positions by filters over channels and positions of the filter
    groups as batch,
    x[1] * _volume(if(transposed, x[3:], y)) as m,
    if(transposed, w[2] * _volume(w[3:]), w[1] / groups) as n,
    if(transposed, w[1] / groups, w[2] * _volume(w[3:])) as k,
    _volume(w[3:]) as window_positions
from result
where transposed is not null and _volume(y) is not null and coalesce(list_min(y), 0) >= 0;

create temp table _convolution_backward as
with
settings as (
    select
        s.signature,
        g.size,
        g.shape as g,
        g.elements as of_gradient,
        x.shape as x,
        x.elements as of_input,
        w.elements as of_weight,
        w.shape as w,
        try_cast(groups.setting as bigint) as groups,
        try_cast(transposed.setting as boolean) as transposed,
        -- which gradients are wanted: of the input, the weight, the bias
        try_cast(mask.setting as boolean[]) as wanted
    from _signature as s
    inner join _operand as g on g.signature = s.signature and g.position = 0
    inner join _operand as x on x.signature = s.signature and x.position = 1
    inner join _operand as w on w.signature = s.signature and w.position = 2
    inner join _operand as transposed on transposed.signature = s.signature and transposed.position = 7
    left join _operand as groups on groups.signature = s.signature and groups.position = 9
    inner join _operand as mask on mask.signature = s.signature and mask.position = 10
    where s.rule = 'convolution_backward'
)

select
    signature,
    2 * x[1] * _volume(if(transposed, x[3:], g[3:])) * of_weight * (wanted[1]::integer + wanted[2]::integer) as flops,
    -- the gradient of one needs the other
    (of_gradient + (of_input + of_weight) * (wanted[1]::integer + wanted[2]::integer)) * size as bytes,
    -- of the forward pass
    groups as batch,
    x[1] * _volume(if(transposed, x[3:], g[3:])) as m,
    if(transposed, w[2] * _volume(w[3:]), w[1] / groups) as n,
    if(transposed, w[1] / groups, w[2] * _volume(w[3:])) as k,
    _volume(w[3:]) as window_positions,
    wanted[1]::integer + wanted[2]::integer as gradients
from settings
where transposed is not null and wanted is not null;

create temp table _attention as
with
operands as (
    select
        s.signature,
        contains(s.rule, 'backward') as is_backward,
        q.size,
        q.elements + k.elements + v.elements as elements,
        q.shape[1] as batch,
        q.shape[if(contains(s.rule, 'by_token'), 3, 2)] as heads,
        k.shape[if(contains(s.rule, 'by_token'), 3, 2)] as key_heads,
        q.shape[if(contains(s.rule, 'by_token'), 2, 3)] as queries,
        k.shape[if(contains(s.rule, 'by_token'), 2, 3)] as keys,
        try_cast(c.setting as boolean) as is_causal,
        q.shape[4] as width,
        v.shape[4] as value_width
    from _signature as s
    inner join _operand as q on q.signature = s.signature and q.position = s.first
    inner join _operand as k on k.signature = s.signature and k.position = s.first + 1
    inner join _operand as v on v.signature = s.signature and v.position = s.first + 2
    left join _operand as c on c.signature = s.signature and c.position = s.causal_at
    where starts_with(s.rule, 'attention') and len(q.shape) = 4 and len(k.shape) = 4 and len(v.shape) = 4
)

select
    signature,
    -- scores and their product with the values; backward computes the scores again and four products
    2 * batch * heads * queries * keys * if(is_backward, 3 * width + 2 * value_width, width + value_width) as flops,
    -- backward reads the output and its gradient and writes a gradient of each input
    (operands.elements + batch * heads * queries * value_width) * if(is_backward, 2, 1) as elements,
    (operands.elements + batch * heads * queries * value_width) * if(is_backward, 2, 1) * size as bytes,
    batch * heads as batch,
    queries as m,
    if(is_backward, 3 * width + 2 * value_width, width + value_width) as n,
    keys as k,
    is_causal,
    -- heads of queries that share keys and values
    if(key_heads > 0 and heads % key_heads = 0, heads / key_heads, 1) as head_group
from operands;

create temp table _moved as
with
dimension as (
    select
        o.signature,
        i,
        if(
            bool_or(o.shape[-i] = 0 and (s.rule = 'broadcast' or o.position = 0)),
            0,
            max(if(s.rule = 'broadcast' or o.position = 0, o.shape[-i], 1))
        ) as longest
    from _signature as s
    inner join _operand as o using (signature)
    cross join unnest(range(1, len(o.shape) + 1)) as d (i)
    where s.rule in ('broadcast', 'like_first')
    group by o.signature, i
),

result as (
    select signature, product(longest) as elements
    from dimension
    group by signature
),

-- The type of a result: of floating-point types before others, of tensors before single numbers, the larger one.
promoted as (
    select
        signature,
        case
            when bool_or(is_floating and is_tensor) then if(
                count(distinct dtype) filter (is_tensor and dtype in ('fp16', 'bf16')) = 2,
                greatest(4, max(size) filter (is_floating and is_tensor)),
                max(size) filter (is_floating and is_tensor)
            )
            -- a number of Python takes the default type, a tensor of no dimensions its own: recorded alike
            when bool_or(is_floating) and bool_or(is_tensor) then null
            when bool_or(is_floating) then max(size) filter (is_floating)
            else coalesce(max(size) filter (is_tensor), max(size))
        end as size
    from (
        select signature, dtype, size, starts_with(dtype, 'fp') or dtype = 'bf16' as is_floating, len(shape) > 0 as is_tensor
        from _operand
        where elements is not null
    )
    group by signature
)

select
    s.signature,
    null::double as flops,
    if(
        bool_or(o.is_unknown),
        null,
        sum(if(o.position >= s.first, o.elements * o.size, 0))
        + any_value(s.writes) * any_value(r.elements)
        * if(any_value(s.rule) = 'broadcast', any_value(p.size), arg_min(o.size, o.position))
    ) as bytes,
    if(bool_or(o.is_unknown or o.dtype is not null), null, sum(o.elements)) as elements,
    any_value(s.writes) * any_value(r.elements)
    * if(any_value(s.rule) = 'broadcast', any_value(p.size), arg_min(o.size, o.position)) as written
from _signature as s
inner join _operand as o using (signature)
inner join result as r using (signature)
inner join promoted as p using (signature)
where o.elements is not null or o.is_unknown
group by s.signature;

create temp table _signature_cost as
from (
    select
        s.signature, s.kind, s.rule, o.dtype,
        try_cast(c.flops as bigint) as flops,
        try_cast(c.bytes as bigint) as bytes,
        -- in all, for those whose types the trace does not show
        try_cast(c.elements as bigint) as elements,
        -- the products that ceilings are worked out from
        c.batch, c.m, c.n, c.k, c.window_positions, c.gradients, c.is_causal, c.written, c.head_group
    from _signature as s
    inner join (
        select signature, flops, bytes, elements, batch, m, n, k from _matmul
        union all by name
        from _convolution
        union all by name
        from _convolution_backward
        union all by name
        from _attention
        union all by name
        from _moved
    ) as c using (signature)
    left join _operand as o on o.signature = s.signature and o.position = if(s.kind in ('elementwise', 'norm'), 0, s.first)
)
-- those without types have no row in operator_cost, but keep their kernels from the products around them
where flops is not null or (coalesce(bytes, elements) is not null and kind in ('elementwise', 'norm'));
