-- Names of what a device does: few and long, so that busy_piece.sql holds each once.
create temporary type kernel_names as enum (
    select distinct name
    from gpu_slice
    where trace_id = $trace_id and device = $device
    order by name
)
