-- Idle time in which the host launched, or was within an operator.
-- title: The GPU waits for the CPU to launch kernels (CPU-bound)
-- finds: Time in which nothing runs on the GPU because the host is still within operators and launch calls: it takes longer to
--   prepare a kernel than the GPU takes to run the one before.
-- matters: A faster GPU or faster kernels would not help: the step takes as long as the host needs to launch it.
-- measured: The pieces of cause idle_launch in the counted steps (idle_piece), all that no other rule owns, and of cause
--   idle_unattributed those below 500 us that end with a launch: between two calls the host does something that was not
--   recorded; and those of cause idle_python in the wrapper that Inductor writes around the kernels of a graph, and in JAX
--   programs below 500 us before a launch. An operator's time excludes launch calls. High 1: what the steps lose to it. Likely
--   0.75, low 0.2: compiling removes the overhead of operators, and CUDA graphs that of launching, but not every program can be
--   compiled or captured completely.
-- try: torch.compile(mode="reduce-overhead"), CUDA graphs; a larger batch, so that each kernel lasts longer for the
--   same launches; fused optimizers and layers; fewer operators.
-- references: https://docs.pytorch.org/docs/stable/notes/cuda.html
--   https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
--   https://developer.nvidia.com/blog/cuda-graphs/
-- fix: {% set phase = rows | selectattr('what', 'equalto', 'phase') | selectattr('idle_share', 'gt', most_in_phase) | first |
--   default(none) -%} {% set operators = rows | selectattr('what', 'equalto', 'operator') | list -%} {% set long = rows |
--   selectattr('what', 'equalto', 'long') | sum(attribute='idle_share') > most_in_system -%} {{ remedy('operator_on_gpu') if
--   long and not held_by() else remedied('fused_optimizer' if program.trains and phase and phase.name == 'optimizer' and not
--   program.has('fused_optimizer') else 'launch_less') }} The host is late mostly in {{ shares(operators) }}; {{ percent(rows |
--   selectattr('what', 'equalto', 'call') | sum(attribute='idle_share')) }} of the time is in {{ program.words.runtime }} calls
--   themselves, the rest in the code around them{% if phase %}; {{ percent(phase.idle_share) }} is in phase {{ phase.name }}{%
--   endif %}.
-- confidence: {% if subject.is_window %}medium{% else %}high{% endif %}
-- reason: The calls and operators that the GPU waits for are in the trace{% if subject.is_window %}, but no steps are marked,
--   so work that happens only once also counts{% endif %}.
-- wrong-if: The profiler slows the host down more than it seems: compare the time of a step without the profiler.
-- same-fix: fewer-launches
-- made-by: host-preempted, synchronous-loader, too-few-workers, pageable-copy, blocking-copy, item-read, device-synchronize,
--   parameter-offload
-- needs: gpu, steps, calls
-- facts: host_bound_facts
-- low: 0.2
-- likely: 0.75
-- high: 1.0
-- threshold: most_in_phase = 0.5: the larger part lies in one phase
-- unknown: {% if subject.steps == 1 and subject.present.launches < few_launches %} {{- plural(subject.present.launches,
--   'launch') }} in one step: too few to tell a loop from start-up {%- endif %}
-- doubted: {% set system = rows | selectattr('what', 'equalto', 'system') | map(attribute='idle_share') | first | default(0)
--   -%} {% if (system or 0) > most_in_system %}{{ percent(system) }} of the launch delay is in system calls made by the driver:
--   fewer launches may not shorten them{% endif %}
-- threshold: most_in_system = 0.5: the larger part of the time
-- threshold: few_launches = 10: a loop launches hundreds of kernels a step; of a handful each may be the first of its kind
-- threshold: between_ns = 500000: ten times what an operator of PyTorch takes the host (20 to 50 us); in longer gaps
--   it does something else than launching
-- rest: yes
-- uses: idle, first_launch
-- categories: idle_launch, idle_python, idle_unattributed
-- heading: {% if held_by() not in ('', 'launch_less') or rows | selectattr('what', 'equalto', 'long') |
--   sum(attribute='idle_share') > most_in_system %}Stop the CPU from delaying launches: the GPU waits for it (CPU-bound){% else
--   %}Launch less often: the GPU waits for the CPU (CPU-bound){% endif %}
select
    p.step, p.ts, p.dur,
    coalesce(o.name, c.name) as name,
    p.cpu_slice_id as slice_id, p.dur as claimed, p.cause, p.gap_id, p.slice_dur as in_slice_ns,
    if(p.cause = 'idle_unattributed', 'host_unrecorded', p.cause) as scenario
from idle as p
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
left join cpu_slice as o on o.trace_id = c.trace_id and o.slice_id = if(c.kind = 'op', c.slice_id, c.operator_id)
where
    (
        p.cause = 'idle_launch'
        -- the wrapper that Inductor writes around the kernels of a graph
        or (p.cause = 'idle_python' and regexp_matches(c.name, 'torchinductor_[^/]+/.*\): (call|partition_\d+)$|(^|/)[a-z0-9]{2}/c[a-z0-9]{20,}\.py\(\d+\): (call|partition_\d+)$'))
        -- between two launches of JAX Python only hands operators over, one by one
        or (
            p.cause = 'idle_python'
            and p.dur < $between_ns
            and p.launch_slice_id is not null
            and exists (from program where trace_id = $trace_id and property = 'framework' and value = 'JAX')
        )
        or (p.cause = 'idle_unattributed' and p.dur < $between_ns and p.launch_slice_id is not null and p.drained_by is null)
    )
    and (p.cpu_slice_id is null or p.cpu_slice_id not in (from first_launch))
