-- What a trace holds of what analyses are about: those without anything to look at need not be planned.
-- reads: collective, communication_name
select
    exists (from gpu_slice where kind = 'memcpy') as copies,
    exists (from gpu_slice where copy_kind = 'um') or exists (from page_fault) as unified_memory,
    exists (from host_name where context = 'data') as fetches,
    exists (from host_name where context = 'data')
    or exists (from thread where regexp_matches(thread_name, '^pt_data_(worker|pin)'))
    or exists (from cpu_slice where kind = 'python' and contains(name, 'torch/utils/data/_utils/')) as workers,
    -- before 1.10 PyTorch's profiler told changes as instants
    exists (from counter where log_id is null) or exists (from allocator_event)
    or exists (from cpu_slice where kind = 'other' and name = '[memory]') as samples,
    exists (from allocator_event) or exists (from allocator_segment) as snapshot,
    exists (from counter where log_id is not null) as monitors,
    exists (from run_log) as training_logs,
    exists (from request) as requests,
    exists (from kernel_report) as kernel_reports,
    exists (from cpu_sample) as cpu_samples,
    exists (from cpu_slice where kind = 'runtime') as calls,
    exists (from cpu_slice where kind = 'runtime' and contains(name, 'GraphLaunch')) as graph_launches,
    exists (
        from gpu_slice where graph_node_id is not null and regexp_matches(args, '"(name|str|annotation|module_fqn|autograd_phase)":')
    ) as graph_regions,
    exists (from gpu_slice where is_communication) or exists (from collective)
    or exists (from communication_name where kind = 'range') as communication,
    exists (from gpu_slice where kind = 'kernel') or exists (from cpu_slice where kind = 'op') as kernels,
    exists (from gpu_slice where kind = 'kernel' and name ^@ 'triton_') as compiled,
    -- costs follow from recorded shapes
    exists (from cpu_slice where kind = 'op' and args is not null) or exists (from cpu_slice where kind = 'runtime' and contains(name, 'GraphLaunch')) as shapes;
