-- allocation_stack: what a stack says of the allocation: the program's own line, and the phase of training it belongs to.
-- makes: allocation_stack

insert into allocation_stack
with
-- Python's lines are numbered from 1, in files of Python, scripts without an ending, or what has no file: <stdin>, <eval_with_key>.1.
-- Functions of C++ have signatures, namespaces or files of other endings (thread48.o, libcuda.so.1).
frame as (
    select distinct
        name, file, line,
        line > 0 and regexp_matches(file, '(?i)\.(py|pyw|pyc|pyx|ipynb)$|^<.*>(\.\d+)?$|(^|[/\\])[^./\\?<>]+$') and not regexp_matches(name, '::|\(|^_start$') as is_python,
        -- packages and the interpreter's own, PyTorch wherever it lies, and what torch.compile and torch.fx write
        regexp_matches(file, '(^|[/\\])(site|dist)-packages[/\\]|[/\\]lib(64)?[/\\]python[0-9.]*[/\\]|(?i:[/\\]python[0-9.]*[/\\]lib[/\\])|^<(frozen|eval_with_key)|torchinductor_|(^|[/\\])torch[/\\](_[a-z]|(amp|autograd|cuda|distributed|fx|func|jit|nn|optim|utils)[/\\]|(functional|serialization|storage)\.py)') as is_library
    from allocator_stack
),

known as (
    select
        name, file, line, is_python,
        is_python and not is_library as is_own,
        case
            when starts_with(name, 'torch::autograd::Engine::') or starts_with(name, 'torch::autograd::python::PythonEngine::') then 'backward'
            when not is_python then null
            when name in ('backward', '_engine_run_backward') then 'backward'
            when name = 'forward' or (name = '_call_impl' and regexp_matches(file, 'nn/modules/module\.py$')) then 'forward'
            -- a script can be called after its optimizer, so that of others only their methods count
            when regexp_matches(file, '(^|/)torch/optim/') then 'optimizer'
            when regexp_matches(file, '(?i)(optim|adam)[^/]*\.py$') and regexp_matches(name, '^(step|update|zero_grad|_?init_(group|state)|_?(single|multi)_tensor|_fused)') then 'optimizer'
            when regexp_matches(file, 'torch/utils/data/') then 'data'
            when name in ('__init__', 'reset_parameters', '_apply', 'load_state_dict', '_load_from_state_dict') then 'init'
        end as phase,
        contains(name, 'AccumulateGrad') as is_accumulated,
        regexp_matches(file, 'torch/nn/parallel/distributed\.py$') as is_parallel
    from frame
),

told as (
    select
        s.stack_id,
        arg_min({'file': s.file, 'line': s.line, 'name': s.name}, s.depth) filter (k.is_own) as own,
        arg_min({'file': s.file, 'line': s.line, 'name': s.name}, s.depth) filter (k.is_python) as python,
        arg_min(s.name, s.depth) filter (contains(s.name, 'at::_ops::')) as operator,
        list(regexp_extract(s.file, '[^/\\]*$') || ':' || s.line || ' ' || s.name order by s.depth) filter (k.is_python) as frames,
        bool_or(k.phase = 'backward') as has_backward,
        bool_or(k.phase = 'forward') as has_forward,
        bool_or(k.phase = 'optimizer') as has_optimizer,
        bool_or(k.phase = 'data') as has_data,
        bool_or(k.phase = 'init') as has_init,
        min(s.depth) filter (k.phase = 'backward') > min(s.depth) filter (k.phase = 'forward') as is_forward_again,
        bool_or(k.is_accumulated) as is_accumulated,
        bool_or(k.is_parallel) as is_parallel
    from allocator_stack as s
    inner join known as k on k.name = s.name and k.file = s.file and k.line = s.line
    group by s.stack_id
)

select
    $trace_id as trace_id,
    stack_id,
    coalesce(
        regexp_extract(own.file, '[^/\\]*$') || ':' || own.line || ' ' || own.name,
        regexp_extract(python.file, '[^/\\]*$') || ':' || python.line || ' ' || python.name || ' (library)',
        'aten::' || regexp_extract(operator, 'at::_ops::([a-zA-Z0-9_]+)', 1) || ' (operator)'
    ) as owner,
    own.file as file,
    -- an allocation in the forward that the optimizer or backward calls again belongs to these
    case
        when has_backward then 'backward'
        when has_forward then 'forward'
        when has_optimizer then 'optimizer'
        when has_data then 'data'
        when has_init then 'init'
    end as phase,
    case
        when has_backward and coalesce(is_forward_again, false) then 'activations'
        when has_backward and is_accumulated then 'gradients'
        when has_init and is_parallel and not has_forward and not has_backward then 'gradients'
    end as says,
    coalesce(frames, []) as frames
from told
order by stack_id;
