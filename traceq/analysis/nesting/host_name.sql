-- What the names of host slices mean: the one list. The first pattern that matches a name of its kind decides, for context, phase
-- and activity apart. Names are asked once each, not slices, and one regular expression for all sorts out most of them.
-- makes: _frame_name, host_name

create temp table _host_pattern as
select row_number() over () as number, *
from (values
    -- context: whatever happens inside such a slice belongs to it
    ('annotation|op', '^enumerate\(DataLoader\)|^traceq\.fetch#|^traceq\.phase#(data|input|fetch|load)', 'data', 'data', null),
    ('annotation|op', '(?i)\b(data_?load(er|ing)?|(next|get|load|fetch|read)_?batch|data_?fetch|batch_?(load|fetch)(ing)?)\b', 'data', 'data', null),
    ('annotation|op', '^(?i:data|input|fetch|load data|data loading)$|(Iter|Map)DataPipe', 'data', 'data', null),
    ('python', 'torch/utils/data/dataloader\.py.*: (__next__|_next_data)', 'data', 'data', null),
    -- Lightning, Transformers, tf.data, DALI; then iterators that PyTorch does not annotate, where frames are recorded
    ('annotation|op', '\w_dataloader_next\b|\bget_train_batch\b|\bget_batch_samples\b|^Iterator(GetNext|::)|^\[DALI\]', 'data', 'data', null),
    ('python', '(^|/)(torchdata|webdataset|streaming/base|ffcv/loader|grain|nvidia/dali/plugin)/[\w/]+\.py.*: (__next__|next)$|\b(lightning|tensorflow)/.*(fetchers|iterator_ops)\.py.*: __next__$', 'data', 'data', null),
    ('python', 'webdataset/\w+\.py.*: (__iter__|iterator1?)$|accelerate/data_loader\.py.*: __iter__$|transformers/trainer\.py.*: get_batch_samples$', 'data', 'data', null),
    ('annotation|op', '^traceq\.phase#(checkpoint|save)|^torch\.save', 'checkpoint', null, null),
    ('annotation|op', '(?i)\b(save|write|dump)_?(checkpoint|ckpt|model|state)|\b(checkpoint|ckpt)_?(save|write|saving)\b', 'checkpoint', null, null),
    ('python', 'torch/serialization\.py.*: save$', 'checkpoint', null, null),
    -- the running of compiled code (CompiledFunction, Torch-Compiled Region, Call CompiledFxGraph) is none of these
    ('annotation|op', 'compile_fx|_compile\.compile_inner|OutputGraph\.|GraphLowering\.|async_compile|aot_(dispatch|autograd)|\b(_dynamo|triton|nvrtc|numba|cupy)\.(\w+\.)*_?compile\b|(?i:autotun|\bptxas\b)', 'compile', null, null),
    ('annotation', '^(FusionKernelRuntime|KernelExecutor|CompiledKernel|ExecutorDispatch|FusionExecutorCache::getKernelRuntimeFor)::compile', 'compile', null, null),
    ('python', 'torch/_dynamo/convert_frame\.py.*: _compile|torch/_inductor/compile_fx\.py.*: compile_fx', 'compile', null, null),
    -- phase: what part of a training step it is
    ('annotation|op', '^traceq\.phase#forward|^(?i:forward( pass)?|fwd|model[_. ]forward)$|^(?i:##\s*forward)', null, 'forward', null),
    ('annotation|op', '^traceq\.phase#backward|^(?i:backward( pass)?|bwd|loss\.backward(\(\))?)$|^autograd::engine|(Backward[0-9]*|AccumulateGrad)$|^(?i:##\s*backward)', null, 'backward', null),
    ('annotation|op', '^traceq\.phase#optimizer|^Optimizer\.(step|zero_grad)#|^(?i:opt(im(izer)?)?([_. ]step)?|zero[_. ]grad)$|^(?i:##\s*optimizer)', null, 'optimizer', null),
    -- activity: what the host does in it, where its kind does not say
    ('runtime', '^(cuda|hip)(Stream|Device|Event|Ctx|Thread)Synchronize|^cu(Stream|Ctx|Event)Synchronize', null, null, 'synchronization'),
    ('runtime', '^(cuda|hip)Memcpy(2D|3D|Peer|ToSymbol|FromSymbol|ToArray|FromArray|WithStream)*$|^cuMemcpy([HDA]to[HDA])?(_v2)?$', null, null, 'synchronization'),
    ('op', '^aten::(item|_local_scalar_dense)$', null, null, 'synchronization'),
    -- JAX waits for its arrays, in Python and in its runtime
    ('python', ': (block_until_ready|try_to_block)$', null, null, 'synchronization'),
    ('annotation', '(?i)Block(Host)?UntilReady|PjRtFuture.*::Await', null, null, 'synchronization'),
    -- what XLA's runtime notes of itself, to hand a program and its arguments to the devices: neither the user's ranges nor Python
    ('annotation', '^(CommonPjRt|PjRt|PJRT_|Tfrt|GpuExecutable::|Thunk(Executor|Execute|s)::?|BufferSequencingEvent::|DevicePut(WithSharding|WithDevice)?$|(xla|tsl|stream_executor)::)', null, null, 'launch'),
    ('runtime', '^(cuda|hip)(Malloc|Free|Host(Alloc|Free|Register|Unregister)|MemPool)|^cuMem(Alloc|Free|Host|Create|Map|Unmap|SetAccess|Release|Address|Pool)', null, null, 'allocation'),
    ('runtime', '^(cu|cuda|hip)(Module|Library)(?:[^L]|L[^a]|$)|^cuKernelGetFunction|^cuLink|^(nvrtc|hiprtc)', null, null, 'compile'),
    ('overhead', '(?i)lazy function loading|module loading', null, null, 'compile'),
    ('annotation|op|other', '^gloo:|^MPI_|^ucp_|^(c10d::|dist(ributed)?[._])?(monitored_)?barrier$', null, null, 'communication')
) as t (kinds, pattern, context, phase, activity);

set variable any_host_pattern = (select string_agg('(?:' || pattern || ')', '|') from _host_pattern);

insert into host_name
select
    $trace_id as trace_id,
    n.kind,
    n.name,
    min_by(p.context, p.number) filter (p.context is not null) as context,
    min_by(p.phase, p.number) filter (p.phase is not null) as phase,
    min_by(p.activity, p.number) filter (p.activity is not null) as activity
from (
    select distinct kind, name
    from staging.cpu_slice
    where regexp_matches(name, getvariable('any_host_pattern'))
) as n
inner join _host_pattern as p on list_contains(string_split(p.kinds, '|'), n.kind) and regexp_matches(n.name, p.pattern)
group by n.kind, n.name
order by n.kind, n.name;

-- Frames of Python that tell the place of what is inside them, as bits of nesting_kind.
create temp table _frame_name as
select name, if(_is_module('python', name), 16, 32) as bits
from (
    select distinct name
    from staging.cpu_slice
    where kind = 'python'
)
where _is_module('python', name) or _is_line('python', name);
