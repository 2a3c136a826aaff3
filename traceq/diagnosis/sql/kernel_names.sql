-- Names of what a device does: few and long, so that the temp table busy holds each once.
create or replace temp type kernel_names as enum (
    select distinct name
    from gpu_slice
    where trace_id = $trace_id and device = $device
    order by name
)
