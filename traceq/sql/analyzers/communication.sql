-- What counts as communication: the one list of names. A kernel belongs to communication when the source's metadata
-- says so, when it was launched inside a range of a communication library, or when its own name matches here.
-- Peer-to-peer copies count only inside such a range: elsewhere they are copies like any other.

create temp table _communication_kernel as
from (values
    ('\bnccl|nccl(Dev)?Kernel', 'NCCL: ncclKernel_* before 2.19, ncclDevKernel_* since'),
    ('\brccl|(?i)msccl', 'RCCL, MSCCL and MSCCL++'),
    ('(?i)nvshmem', 'NVSHMEM'),
    ('deep_ep::|dpsk::ep::', 'DeepEP dispatch and combine'),
    ('\b(oneccl|hccl)', 'oneCCL, HCCL'),
    ('userbuffers', 'Transformer Engine''s user buffers'),
    ('cross_device_reduce|quick_?reduce|multimem_|lamport.*[rR]educe', 'all-reduce of inference engines, symmetric memory'),
    (
        '(?i)(^|[^a-z])(one_?shot_?|two_?shot_?|custom_?)?(all_?reduce|all_?gather|reduce_?scatter|all_?to_?all)',
        'anything named after a collective; not small_reduce'
    )
) as t (pattern, meaning);

-- Named like communication, and none.
create temp table _compute_kernel as
from (values
    ('^triton_[a-z]+_fused', 'Inductor names compute kernels after the operators around them, collectives among them'),
    ('(?i)(warp|block|cta|thread|lane|wave)_?all_?reduce', 'reductions inside a block')
) as t (pattern, meaning);

create temp table _communication_range as
from (values
    ('^nccl(:|[A-Z])', 'NCCL''s own NVTX ranges and PyTorch''s nccl:* annotations'),
    ('^gloo:', 'Gloo'),
    ('^record_param_comms$', 'PyTorch''s record of a collective''s arguments')
) as t (pattern, meaning);
