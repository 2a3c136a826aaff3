-- Idle time in which the launching thread ran code of the program outside of everything that was recorded.
-- title: GPU idle: the launching thread computes on the CPU
-- finds: Time in which nothing runs on the GPU because the launching thread runs the program's own code: it is on a CPU, but
--   not in a CUDA call, a system call or an operator.
-- matters: GPU and CPU take turns instead of working at the same time: each step takes as long as the two together.
-- measured: The pieces of cause idle_cpu in the counted steps (idle_piece), all that no other rule owns. The scheduler's events
--   show that the thread was on a CPU, or else samples do; what it ran there is the share of its samples in these gaps, by the
--   program's own function in the call chain. High 1: what the steps lose to it. Likely 0.9, low 0.2: some of it has to come
--   before what the GPU does next.
-- try: Launch the next GPU work first; do this work on the GPU, where the data is, or in another thread, or with all cores;
--   write and print from a separate thread, and less.
-- references: https://docs.nvidia.com/nsight-systems/UserGuide/index.html#cpu-profiling-using-nsys-cli
--   https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html
-- fix: {% set functions = rows | selectattr('what', 'equalto', 'function') | list -%} {% set ranges = rows | selectattr('what',
--   'equalto', 'range') | list -%} {% set work = rows | selectattr('what', 'equalto', 'work') | map(attribute='name') | first |
--   default('nothing') -%} Move work off the launching thread. The thread spends {{ per_step(claimed_ns) }} on the CPU {%- if
--   ranges %}, in {{ shares(ranges) }}{% endif %} {%- if functions %}, according to {{ plural(facts.samples, 'sample') }} in {{
--   shares(functions) }}{% endif %} {%- if facts.single_ns %} ({{ time(facts.single_ns) }} in step {{ facts.single_step }}
--   alone {%- if facts.single_name %}, mostly in {{ cut(facts.single_name) }}{% endif %}){% endif %}. {% if work == 'text' %}It
--   reads or formats text: hand that to a thread that writes (or reads ahead) while the GPU keeps working {%- if
--   facts.is_python and program.launches_from_python %}, `concurrent.futures.ThreadPoolExecutor(1).submit(write, data)`{% endif
--   %}; print less, print it at once, or keep numbers in binary. {%- elif work == 'memory' %}It fills, copies or allocates
--   memory: keep buffers and containers from step to step (one flat array instead of many small ones), touch them in another
--   thread first, or fill them on the GPU. {%- elif work == 'waiting' %}It keeps polling for something else to finish: give it
--   the next work in the meantime, or let a separate thread wait. {%- elif work == 'driver' %}It is in the GPU's driver,
--   outside the recorded calls: set up streams, modules and memory once, before the loop. {%- elif program.launches_from_python
--   and (work == 'python' or (work == 'nothing' and facts.is_python)) %}It runs Python: {{ way('python_lines', 'Python stacks
--   would show which lines.') }} Move what needs no GPU to a separate thread or process, and replace loops by operations on
--   whole arrays. {%- elif work == 'own' %}Launch the next GPU work first, so that both work at the same time; or compute it on
--   the GPU, where the data is, or with all cores (OpenMP, std::execution::par). Results do not have to be checked in every
--   step. {%- else %}CPU samples would show which code it is: {{ way('cpu_samples', 'sample the CPU') }}. Launch the next GPU
--   work first, so that both work at the same time. {%- endif %}
-- facts: host_compute_facts
-- confidence: {% if facts.samples >= few_samples %}high{% else %}medium{% endif %}
-- reason: {% if facts.samples >= few_samples %}Scheduler events or samples show that the thread was on a CPU, and samples show
--   in which code. {%- elif facts.is_scheduled %}Scheduler events show that the thread was on a CPU; what it did there was {%-
--   if facts.samples %} sampled only {{ plural(facts.samples, 'time') }}.{% else %} not recorded.{% endif %} {%- else %}The
--   thread was in a range of the program, but in no recorded call. {%- endif %}
-- wrong-if: The code polls for something else to finish, such as another process.
-- heading: Move CPU work off the launching thread
-- needs: gpu, steps
-- rules-out: scheduling
-- low: 0.2
-- likely: 0.9
-- high: 1.0
-- threshold: few_samples = 30: with 30 samples a share of one half is known to within a fifth (two standard errors)
-- rest: yes
-- uses: idle
-- categories: idle_cpu
select
    p.step, p.ts, p.dur,
    coalesce(c.name, f.name) as name,
    p.cpu_slice_id as slice_id, p.dur as claimed, p.cause, p.gap_id
from idle as p
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
left join (
    select gap_id, cause, max_by(name, {'samples': samples, 'name': name}) as name
    from idle_function
    where trace_id = $trace_id and device = $device
    group by gap_id, cause
) as f on f.gap_id = p.gap_id and f.cause = p.cause
where p.cause = 'idle_cpu'
