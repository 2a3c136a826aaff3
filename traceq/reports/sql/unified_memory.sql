-- Migrations and page faults of the counted steps; without a device: faults of the CPU.
select
    device,
    sum(migrations_h2d)::bigint as migrations_h2d,
    if(count(bytes_h2d) = count(*), sum(bytes_h2d), null)::bigint as bytes_h2d,
    sum(dur_h2d)::bigint as h2d_ns,
    sum(migrations_d2h)::bigint as migrations_d2h,
    if(count(bytes_d2h) = count(*), sum(bytes_d2h), null)::bigint as bytes_d2h,
    sum(dur_d2h)::bigint as d2h_ns,
    sum(gpu_faults)::bigint as gpu_faults,
    sum(gpu_fault_dur)::bigint as gpu_fault_ns,
    sum(cpu_faults)::bigint as cpu_faults
from unified_memory as u
inner join step as s using (trace_id, step)
where trace_id = $trace_id and s.excluded is null
group by device
order by device
