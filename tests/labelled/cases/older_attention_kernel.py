from __future__ import annotations

from labelled.gpu_work import FLASH, GEMM, a100, h100, kernel, run

LAYER = kernel(GEMM, 500_000, "aten::addmm")
NVJET = "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN"
FLASH_3 = "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<Mainloop> > >(Params)"
SPLIT = "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4> >(Flash_fwd_params)"


def found(trace):
    """FlashAttention 2 on an H100."""
    h100(trace)
    run(trace, LAYER, kernel(FLASH, 1_500_000, "flash_attn::_flash_attn_forward"), LAYER)


def found_of_pytorch(trace):
    h100(trace)
    flash = FLASH.replace("flash::", "pytorch_flash::", 1)
    run(trace, LAYER, kernel(flash, 1_500_000, "aten::_scaled_dot_product_flash_attention"), LAYER)


def found_where_kernels_name_the_gpu(trace):
    """The trace does not describe the GPU; its other kernels are Hopper's."""
    run(trace, kernel(NVJET, 500_000), kernel(FLASH, 1_500_000), kernel(NVJET, 500_000))


def clean_on_ampere(trace):
    a100(trace)
    run(trace, LAYER, kernel(FLASH, 1_500_000, "flash_attn::_flash_attn_forward"), LAYER)


def clean_flash_3(trace):
    h100(trace)
    run(trace, LAYER, kernel(FLASH_3, 900_000, "flash_attn::_flash_attn_forward"), LAYER)


def clean_decoding(trace):
    """Memory limits what splits keys for a few queries."""
    h100(trace)
    run(trace, LAYER, kernel(SPLIT, 1_500_000), LAYER)


def clean_short(trace):
    """Shorter than anything the comparison was measured on."""
    h100(trace)
    run(trace, LAYER, kernel(FLASH, 30_000, "flash_attn::_flash_attn_forward"), LAYER)


def cannot_tell_which_gpu(trace):
    run(trace, LAYER, kernel(FLASH, 1_500_000), LAYER)
