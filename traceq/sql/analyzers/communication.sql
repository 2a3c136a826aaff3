-- What counts as communication: the one list of names. A kernel belongs to communication when the source's metadata
-- says so, when it was launched inside a range of a communication library, or when its own name matches here.
-- Peer-to-peer copies count only inside such a range: elsewhere they are copies like any other.

create temp table _communication_kernel as
from (values
    ('nccl', 'NCCL: ncclKernel_* before 2.19, ncclDevKernel_* since'),
    ('rccl|msccl', 'RCCL, MSCCL and MSCCL++'),
    ('nvshmem', 'NVSHMEM'),
    ('deep_ep::|dpsk::ep::', 'DeepEP dispatch and combine'),
    ('oneccl|hccl', 'oneCCL, HCCL'),
    ('cross_device_reduce|quick_?reduce|multimem_|lamport.*reduce', 'custom all-reduce of inference engines, symmetric memory'),
    ('all_?reduce|all_?gather|reduce_?scatter|all_?to_?all', 'anything named after a collective, one-shot and two-shot kernels among them')
) as t (pattern, meaning);

create temp table _communication_range as
from (values
    ('^nccl(:|[A-Z])', 'NCCL''s own NVTX ranges and PyTorch''s nccl:* annotations'),
    ('^gloo:', 'Gloo'),
    ('^record_param_comms$', 'PyTorch''s record of a collective''s arguments')
) as t (pattern, meaning);
