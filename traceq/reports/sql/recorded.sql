-- Whether the traces hold anything to report on: work of a GPU or the host, a history of memory, samples of monitors.
select
    exists (select 1 from gpu_slice where list_contains($traces, trace_id))
    or exists (select 1 from cpu_slice where list_contains($traces, trace_id))
    or exists (select 1 from gpu_annotation where list_contains($traces, trace_id))
    or exists (select 1 from allocator_event where list_contains($traces, trace_id))
    or exists (select 1 from allocator_segment where list_contains($traces, trace_id))
    or exists (select 1 from counter where list_contains($traces, trace_id)) as is_recorded
