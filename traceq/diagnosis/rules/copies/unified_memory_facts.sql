-- What unified memory moved in the counted steps, and what the program did about it.
-- uses: counted
select
    coalesce(sum(u.migrations_h2d), 0) as migrations_h2d,
    coalesce(sum(u.bytes_h2d), 0) as bytes_h2d,
    coalesce(sum(u.migrations_d2h), 0) as migrations_d2h,
    coalesce(sum(u.bytes_d2h), 0) as bytes_d2h,
    sum(u.gpu_faults) as gpu_faults,
    (
        select count(*)
        from cpu_slice
        where trace_id = $trace_id and kind = 'runtime' and regexp_matches(name, '^cu(da)?MemPrefetch')
    ) as prefetches
from unified_memory as u
inner join counted using (step)
where u.trace_id = $trace_id and u.device = $device
