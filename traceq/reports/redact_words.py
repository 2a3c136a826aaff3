"""Lists for redaction: words that give nobody away, although they stand where a name or a secret could.

Everything that is public is listed by name: what is not known to be public is replaced.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Fields of the report that are traceq's own, whatever stands in them: other programs rely on these words.
OWN_FIELDS = _words(
    "sha256 format rule confidence severity category cause bucket small state metric columns side kind operation limiter"
)

# Packages whose files are the same everywhere: their paths stay, they are what one looks up.
PUBLIC_PACKAGES = _words(
    """
    torch torchvision torchaudio torchrec torchtitan torchao torchdata torchmetrics functorch triton aten ATen c10
    transformers diffusers accelerate tokenizers safetensors peft trl huggingface_hub lightning pytorch_lightning
    lightning_fabric deepspeed megatron apex flash_attn xformers vllm sglang timm fairscale fairseq detectron2 mmcv mmdet
    mmengine monai ignite composer nemo transformer_engine bitsandbytes numpy pandas scipy sklearn PIL cv2 jax jaxlib flax
    optax tensorflow keras horovod ray dask distributed fsspec s3fs pyarrow cupy numba nvidia cuda einops hydra omegaconf
    wandb tensorboard tqdm webdataset streaming ffcv grain nvtx traceq concurrent asyncio multiprocessing importlib
    docs logging json collections unittest ctypes encodings urllib http email
    """
)

# Directories of the operating system, which all machines have. What is below them stays too.
SYSTEM = (
    ("traceq",),  # in the JSON of a trace's args
    *(("proc",), ("sys",), ("bin",), ("sbin",), ("lib",), ("lib32",), ("lib64",)),
    *(("usr", name) for name in ("bin", "sbin", "lib", "lib32", "lib64", "libexec", "include")),
)

# The component after one of these is likely the name of a user; of others than SURE_HOMES it is when more follows.
SURE_HOMES = frozenset(("home", "homes", "users", "documents and settings"))
HOMES = SURE_HOMES | {"user", "scratch", "fsx"}

# Accounts of nobody in particular, what else stands below /home and /scratch, and words in the names of GPUs.
ACCOUNTS = _words(
    """
    root user users ubuntu admin administrator ec2-user azureuser centos debian fedora opc rocky runner runneradmin jovyan
    vscode vagrant docker container nobody default public shared share guest test dev developer work workspace workdir
    project projects group groups lab labs team app apps code src tmp temp cache data dataset datasets model models train
    training trainer trace traces run runs job jobs python conda env venv home host local all nvidia amd cuda torch pytorch
    jupyter sagemaker-user coder slurm ray git hpc cluster gpu gpus node nodes appdata desktop documents downloads library
    intel tesla quadro geforce radeon instinct titan graphics
    """
)

# Hosts whose pages are for everybody, and those where everybody has some, of which those of PUBLIC_OWNERS stay.
PUBLIC_HOSTS = _words(
    """
    pytorch.org docs.pytorch.org dev-discuss.pytorch.org discuss.pytorch.org developer.nvidia.com docs.nvidia.com
    docs.python.org rocm.docs.amd.com arxiv.org ui.perfetto.dev perfetto.dev docs.kernel.org en.wikipedia.org
    """
)
HOSTS_OF_MANY = frozenset(("github.com", "huggingface.co"))
PUBLIC_OWNERS = frozenset(
    ("nvidia", "pytorch", "facebookresearch", "microsoft", "rocm", "huggingface", "dao-ailab", "deepspeedai", "docs")
)

# Words before a colon and a path that are no host.
NO_HOST = _words(
    """
    path paths file files dir dirs directory folder at in on to from into error warning note see cwd home root input output
    source target module frame location loading reading writing opening saving cached cache log http https localhost
    """
)

# Options that traceq's own words name.
OWN_OPTIONS = _words(
    """
    trace sample cuda-graph-trace cuda-event-trace cuda-memory-usage cuda-um-cpu-page-faults cuda-um-gpu-page-faults
    cudabacktrace cpuctxsw python-sampling python-backtrace gpu-metrics-device gpu-metrics-devices gpu-metrics-set
    gpu-metrics-frequency pytorch capture-range capture-range-end delay duration export type include-blobs force-overwrite
    mpi-impl nccl osrt-threshold backtrace stats sys-trace set set-full step-range plan jobs top backend goal run runs steps
    skip warmup format o output save rules min-saving membind cpunodebind nproc-per-node nproc_per_node nnodes
    num-layers-per-virtual-pipeline-stage micro-batch-size tensor-model-parallel-size sequence-parallel tp-comm-overlap
    overlap-param-gather overlap-grad-reduce moe-enable-deepep overlap-moe-expert-parallel-comm moe-token-dispatcher-type
    moe-shared-expert-overlap moe-grouped-gemm
    """
)

# Settings of libraries, not of people.
PUBLIC_VARIABLES = (
    *(
        "NCCL_",
        "RCCL_",
        "CUDA_",
        "CUBLAS_",
        "CUDNN_",
        "HIP_",
        "ROCR_",
        "HSA_",
        "MIOPEN_",
        "PYTORCH_",
        "TORCH_",
        "TORCHINDUCTOR_",
    ),
    *("TRITON_", "NVTE_", "OMP_", "MKL_", "KMP_", "GLOO_", "NVIDIA_TF32", "UCX_", "XLA_", "TF_"),
)
