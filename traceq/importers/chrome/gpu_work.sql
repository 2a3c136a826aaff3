-- Kernels, copies and memsets of _work, with the columns of gpu_slice; not is_plain where an argument is of another type than
-- usual, or the device or the stream stands elsewhere, as that of a kernel which is drawn on another lane.
with
known as (
    select
        *,
        from_json(
            args,
            '{"External id":"VARCHAR","device":"VARCHAR","context":"VARCHAR","stream":"VARCHAR","correlation":"VARCHAR",
            "registers per thread":"VARCHAR","shared memory":"VARCHAR","grid":"VARCHAR","block":"VARCHAR","graph id":"VARCHAR",
            "graph node id":"VARCHAR","bytes":"VARCHAR","fromDevice":"VARCHAR","toDevice":"VARCHAR"}'
        ) as a
    from _work
),

typed as (
    select
        *,
        try_cast(a.device as integer) as device_number,
        try_cast(a.grid as integer[]) as grid,
        try_cast(a.block as integer[]) as block
    from known
)

select
    slice_id,
    coalesce(
        device_number >= 0 and _is_integer(a.device)
        and a.stream is not null
        and _is_integer(a."External id") and not contains(args, '"external id"')
        and not contains(args, '"original_stream"')
        and _is_integer(a.context) and _is_integer(a.stream) and _is_integer(a.correlation)
        and _is_integer(a."shared memory") and _is_integer(a."graph id") and _is_integer(a."graph node id")
        and _is_integer(a.bytes)
        and _is_int32(a."registers per thread") and _is_int32(a."fromDevice") and _is_int32(a."toDevice")
        and _is_int32_list(a.grid) and _is_int32_list(a.block),
        false
    ) as is_plain,
    kind,
    device_number as device,
    try_cast(a.stream as bigint) as stream,
    name,
    ts,
    dur,
    try_cast(a."External id" as bigint) as external_id,
    try_cast(a.context as bigint) as context,
    try_cast(a.correlation as bigint) as correlation_id,
    -- Kineto writes 0 for work outside graphs
    nullif(try_cast(a."graph id" as bigint), 0) as graph_id,
    nullif(try_cast(a."graph node id" as bigint), 0) as graph_node_id,
    try_cast(a.bytes as bigint) as bytes,
    try_cast(a."registers per thread" as bigint) as registers_per_thread,
    try_cast(a."shared memory" as bigint) as shared_memory,
    grid[1] as grid_x,
    grid[2] as grid_y,
    grid[3] as grid_z,
    block[1] as block_x,
    block[2] as block_y,
    block[3] as block_z,
    try_cast(a."fromDevice" as integer) as src_device,
    try_cast(a."toDevice" as integer) as dst_device,
    nullif(
        json_merge_patch(
            args,
            '{"External id":null,"device":null,"context":null,"stream":null,"correlation":null,"registers per thread":null,
            "shared memory":null,"grid":null,"block":null,"graph id":null,"graph node id":null,"bytes":null,"fromDevice":null,
            "toDevice":null}'
        )::varchar,
        '{}'
    ) as args
from typed
