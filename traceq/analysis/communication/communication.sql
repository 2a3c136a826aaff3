-- What counts as communication, by which library and which operation: the one list of names. A kernel belongs to communication
-- when the source's metadata says so, when it was launched inside a range of a communication library, or when its own name
-- matches here. Peer-to-peer copies count only inside such a range: elsewhere they are copies like any other.
--
-- says: communication (this is some, by that library), copies (peer copies launched inside are), compute (named like
-- communication, and none), op, algorithm. Of several patterns that say the same of a name, the first one counts.
-- makes: communication_name

create temp table _communication_pattern as
select row_number() over () as number, *
from (values
    -- before NCCL: their kernels have its types as arguments
    ('communication', 'kernel', '\brccl', 'RCCL', 'AMD; most of its kernels are named like NCCL''s'),
    ('communication', 'kernel', '(?i)msccl', 'MSCCL', 'MSCCL and MSCCL++'),
    ('communication', 'kernel', '\bnccl|nccl(Dev)?Kernel', 'NCCL', 'ncclKernel_* before 2.19, ncclDevKernel_* since, ncclSymkDevKernel_* of symmetric memory'),
    ('communication', 'kernel', '(?i)nvshmem', 'NVSHMEM', 'also what Triton calls of it'),
    ('communication', 'kernel', 'deep_ep(::|\d)|dpsk::ep::|hybrid_ep::', 'DeepEP', 'dispatch and combine of expert parallelism; mangled names, too'),
    ('communication', 'kernel', '\bpplx::|(?i:\bmoe_?a2a)', 'custom', 'dispatch and combine of inference engines'),
    ('communication', 'kernel', '\boneccl', 'oneCCL', 'Intel'),
    ('communication', 'kernel', '\bhccl', 'HCCL', 'Gaudi, Ascend, MTIA'),
    ('communication', 'kernel', 'userbuffers', 'Transformer Engine', 'its user buffers'),
    ('communication', 'kernel', 'multimem_|c10d::symmetric_memory', 'symmetric memory', 'PyTorch''s'),
    ('communication', 'kernel', 'cross_device_reduce|(?i:quick_?(all_?)?reduce)|lamport.*[rR]educe', 'custom', 'all-reduce of inference engines'),
    (
        'communication',
        'kernel',
        '(?i)(^|[^a-z])(one_?shot_?|two_?shot_?|custom_?)?(all_?reduce|all_?gather|reduce_?scatter|all_?to_?all)',
        'custom',
        'anything named after a collective; not small_reduce'
    ),
    ('compute', 'kernel', '^triton_[a-z]+_fused', null, 'Inductor names compute kernels after the operators around them, collectives among them'),
    (
        'compute',
        'kernel',
        '(?i)(all_?gather|reduce_?scatter|all_?reduce).*(gemm|matmul)|(gemm|matmul).*(all_?gather|reduce_?scatter|all_?reduce)',
        null,
        'one kernel that multiplies matrices while it communicates: the GPU computes'
    ),
    ('compute', 'kernel', '(?i)(warp|block|cta|thread|lane|wave)_?all_?reduce', null, 'reductions inside a block'),
    ('compute', 'kernel', 'deep_ep(::|\d+)layout', null, 'counts tokens on the GPU itself'),
    ('communication', 'range', '^nccl(:|[A-Z])', 'NCCL', 'its own NVTX ranges and PyTorch''s nccl:* annotations'),
    ('communication', 'range', '^gloo:', 'Gloo', 'on the host'),
    ('communication', 'range', '^(MPI_|mpi:)', 'MPI', 'NVTX ranges of nsys before 2022.3, its MPI tables since, PyTorch''s annotations'),
    ('communication', 'range', '^(ucp_|ucc:)', 'UCX', 'nsys'' UCX tables; UCC stands on it'),
    ('communication', 'range', '^nvshmem', 'NVSHMEM', 'its NVTX ranges'),
    ('communication', 'range', '^(xccl|oneccl):', 'oneCCL', 'PyTorch''s annotations'),
    ('communication', 'range', '^hccl:', 'HCCL', 'PyTorch''s annotations'),
    ('communication', 'range', '^record_param_comms$', null, 'PyTorch''s record of a collective''s arguments'),
    ('communication', 'range', '^_?c10d(_functional)?::', null, 'operators of torch.distributed'),
    ('communication', 'domain', '^NCCL$', 'NCCL', 'NVTX domain'),
    ('copies', 'range', '^FSDP::(all_gather|reduce_scatter|all_reduce)', null, 'FSDP by copy engine; the kernels in it pack and unpack'),
    ('copies', 'range', '^symm_mem::', 'symmetric memory', 'operators that may hold a matrix product as well'),
    ('op', 'kernel', '^ncclKernel_SendRecv_RING_SIMPLE', 'unknown', 'before 2.19 this one carried out whatever had no kernel of its own'),
    -- more of the name first: an all-reduce is a reduce, too
    ('op', 'any', '(?i)reduce_?scatter|userbuffers.*_rs\b|userbuffers.*_rs_', 'reduce_scatter', null),
    ('op', 'any', '(?i)all_?reduce|cross_device_reduce|quick_?reduce|lamport.*reduce', 'all_reduce', null),
    ('op', 'any', '(?i)all_?gather|userbuffers.*_ag\b|userbuffers.*_ag_', 'all_gather', null),
    ('op', 'any', '(?i)all_?to_?all|(\b|_)a2a|moe_?a2a', 'all_to_all', null),
    ('op', 'any', '(deep_ep|dpsk|hybrid_ep|pplx)(::|\d).*(dispatch|combine)', 'all_to_all', null),
    ('op', 'any', '(?i)send_?recv', 'send_recv', null),
    ('op', 'any', '(?i)barrier', 'barrier', null),
    ('op', 'any', '(?i)broadcast|bcast', 'broadcast', null),
    ('op', 'any', '(?i)gather', 'gather', null),
    ('op', 'any', '(?i)scatter', 'scatter', null),
    ('op', 'any', '(?i)reduce', 'reduce', null),
    ('op', 'any', '(?i)send', 'send', null),
    ('op', 'any', '(?i)recv', 'recv', null),
    ('algorithm', 'kernel', '(?i)nvls_?tree', 'nvls_tree', null),
    ('algorithm', 'kernel', '(?i)nvls', 'nvls', null),
    ('algorithm', 'kernel', '(?i)collnet', 'collnet', null),
    ('algorithm', 'kernel', 'ncclSym|c10d::symmetric_memory', 'symmetric', null),
    ('algorithm', 'kernel', 'multimem', 'multimem', null),
    ('algorithm', 'kernel', '(?i)two_?shot|2stage', 'two_shot', null),
    ('algorithm', 'kernel', '(?i)one_?shot|1stage', 'one_shot', null),
    ('algorithm', 'kernel', '(?i)lamport', 'lamport', null),
    ('algorithm', 'kernel', '_PAT(_|\b)', 'pat', null),
    ('algorithm', 'kernel', '_RING(_|\b)|Ring(LL|Simple|Kernel)', 'ring', null),
    ('algorithm', 'kernel', '_TREE(_|\b)|Tree(LL|Simple|Kernel|Up|Down)', 'tree', null)
) as t (says, what, pattern, answer, meaning);

-- One regular expression for all sorts out most names: emit_nvtx gives every operator call a name of its own, compilers every kernel.
set variable any_communication_range = (
    select string_agg('(?:' || pattern || ')', '|') from _communication_pattern where what = 'range'
);

set variable any_communication_kernel = (
    select string_agg('(?:' || pattern || ')', '|')
    from _communication_pattern
    where what in ('kernel', 'any') and says in ('communication', 'copies')
);

create temp table _communication_answer as
with
-- any_value: the conditions are on names once each, and not moved to the rows they are from
name as (
    select 'kernel' as kind, name, null as domain
    from staging.gpu_slice
    where kind = 'kernel'
    group by name
    having regexp_matches(any_value(name), getvariable('any_communication_kernel'))
    union all
    select 'range', name, category
    from cpu_slice
    where kind in ('op', 'annotation')
    group by name, category
    having regexp_matches(any_value(name), getvariable('any_communication_range')) or category = 'NCCL'
    union all
    select distinct 'collective', op, null from staging.collective
    union all
    -- what collective_issued.sql makes of a group of them
    select 'collective', 'ncclSendRecv', null where exists (select 1 from staging.collective where op in ('ncclSend', 'ncclRecv'))
)

select n.kind, n.name, p.says, min_by(p.answer, p.number) as answer
from name as n
inner join _communication_pattern as p
    on p.what in (n.kind, 'any') and regexp_matches(n.name, p.pattern)
    or p.what = 'domain' and regexp_matches(n.domain, p.pattern)
group by n.kind, n.name, p.says;

insert into communication_name
select
    $trace_id as trace_id,
    kind,
    name,
    max(answer) filter (says in ('communication', 'copies')) as library,
    coalesce(max(answer) filter (says = 'op'), 'unknown') as op,
    max(answer) filter (says = 'algorithm') as algorithm,
    if(kind = 'range', if(bool_or(says = 'communication'), 'all', 'copies'), null) as scope
from _communication_answer
group by kind, name
having kind = 'collective' or (bool_or(says in ('communication', 'copies')) and not bool_or(says = 'compute'))
order by kind, name;
