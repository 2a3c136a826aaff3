-- Forward work that runs again within the backward pass. A checkpoint's own node of autograd runs it again as a whole; without
-- re-entering autograd it runs when the first saved tensor is unpacked: in whatever node of the backward pass that is, which then has
-- operators in it that only a forward pass calls, the last of them near the end of it.
-- title: Recomputation: forward work runs again in the backward pass
-- finds: Kernels of the forward pass that are launched again within the backward pass: activation checkpointing, which discards
--   activations and computes them again when their gradients need them.
-- matters: Checkpointing everything costs about a third more arithmetic to save memory. If memory is left, or if a few tensors
--   that are cheap to compute make up most of it, much of that is unnecessary.
-- measured: Kernels (busy_piece) launched directly in a node of autograd that belongs to a checkpoint
--   (CheckpointFunctionBackward, of PyTorch, Megatron and DeepSpeed), and kernels launched in any other node of the backward
--   pass until the end of the last operator in it that only forward passes call (aten::linear, aten::conv2d, aten::layer_norm,
--   attention, ...): a checkpoint that does not re-enter autograd runs within whichever node first needs one of its tensors.
--   Recomputation that a compiler put into its kernels cannot be told from other work. Shares: 0.2 low (only the cheapest
--   blocks can be kept), 0.5 likely (every other block, or the matrix products only), 1 high (there is enough memory for
--   everything).
-- try: Checkpoint every other block, or only what is cheap to compute and large to keep (selective checkpointing), or nothing
--   if peak memory leaves room. Fused attention and fused losses keep less in the first place.
-- references: https://docs.pytorch.org/docs/stable/checkpoint.html
--   https://pytorch.org/blog/activation-checkpointing-techniques/
-- fix: If memory is left, checkpoint fewer blocks: `checkpoint(block, x, use_reentrant=False) if index % 2 else block(x)`. Or
--   keep the outputs of matrix products and attention and recompute the rest: `checkpoint(block, x, use_reentrant=False,
--   context_fn=functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default,
--   torch.ops.aten.addmm.default]))`. {{ of_step(claimed_ns) }} ({{ percent(claimed_share) }}) goes into computing activations
--   a second time.
-- confidence: {% if (pieces | rejectattr('is_checkpoint') | list | length == 0) %}high{% else %}medium{% endif %}
-- reason: {% if (pieces | rejectattr('is_checkpoint') | list | length == 0) %}The autograd node that launches them belongs to a
--   checkpoint.{% else %}Operators that only a forward pass calls run within nodes of the backward pass.{% endif %}
-- wrong-if: There is not enough memory for the activations: without checkpoints, the run fails with out of memory.
-- heading: Checkpoint less: forward work runs again in the backward pass
-- for: pytorch, training
-- needs: gpu, steps, launches, operators
-- low: 0.2
-- likely: 0.5
-- high: 1.0
-- uses: busy
-- categories: compute
-- only-with: host_slice_name: kind = 'op' and regexp_matches(name, 'Backward\d*(,|$)')
with
again as (
    select phase_id, max(ts_end) as until
    from cpu_slice
    where
        trace_id = $trace_id
        and kind = 'op'
        and phase_id is not null
        and regexp_matches(name, '^aten::(linear|conv[123]d|layer_norm|native_layer_norm|rms_norm|group_norm|batch_norm|embedding|scaled_dot_product_attention)(,|$)')
    group by phase_id
),

node as (
    select
        n.slice_id,
        n.name,
        regexp_matches(n.name, 'Checkpoint') as is_checkpoint,
        if(is_checkpoint, n.ts_end, a.until) as until
    from cpu_slice as n
    left join again as a on a.phase_id = n.slice_id
    where
        n.trace_id = $trace_id
        and n.kind = 'op'
        and regexp_matches(n.name, 'Backward\d*(,|$)')
        and until is not null
)

select
    b.step, b.ts, b.dur, b.name, b.slice_id, b.ledger_dur as claimed, 'compute' as cause, b.slice_id as busy_id,
    n.name as node,
    n.is_checkpoint
from busy as b
inner join cpu_slice as l on l.trace_id = b.trace_id and l.slice_id = b.launch_id
inner join node as n on n.slice_id = l.phase_id
where b.category = 'compute' and l.ts < n.until
