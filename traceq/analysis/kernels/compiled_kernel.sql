-- compiled_kernel: what ran, with what _rows tells of it.
-- reads: _compiled_used, _rows
-- makes: compiled_kernel
insert into compiled_kernel by name
select
    $trace_id as trace_id,
    u.name, u.kernel_hash, u.kernel_file, u.backend, r.kind, r.operators, r.lines, r.code, r.told_by, u.kernels, u.dur
from _compiled_used as u
inner join _rows as r on r.name = u.name and r.kernel_hash is not distinct from u.kernel_hash
order by u.dur desc, u.name, u.kernel_hash;
