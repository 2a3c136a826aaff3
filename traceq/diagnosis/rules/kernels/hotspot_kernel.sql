-- Kernels by name, where one of them has most of the time in which the GPU is busy.
-- title: One kernel dominates the GPU's busy time
-- finds: A kernel that takes more than half of the GPU's busy time.
-- matters: Improving this kernel can save more than improving all the others.
-- measured: Time of the ledger (busy_piece.ledger_dur) by kernel name over the counted steps, relative to all GPU
--   work: more than 0.5, if that is at least 0.2 of the steps and other kernels ran as well. Matrix products of
--   cuBLAS and CUTLASS on tensor cores are left out: they are what a GPU is for.
-- try: Nsight Compute (AMD: rocprof-compute) on this kernel, a better library or algorithm for it, lower precision,
--   fewer or smaller calls.
-- references: https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html
-- remark: {{ kernel_name(facts.name) }} takes {{ percent(facts.busy_share) }} of the GPU's busy time: {% if
--   subject.is_window %}{{ plural(facts.launches, 'time') }} in the trace {%- else %}{{ plural(facts.launches /
--   steps, 'time') }} per step {%- endif %}, {{ time(facts.mean_ns) }} each. {{ measured(facts.name) }}
-- fix: {% if facts.family == 'flash_attention' and program.runs_model %}{{ remedy('faster_attention') }} {%- else %}{{
--   remedy('look_at_kernel_with', kernel=kernel_name(facts.name).split()[0]) }} {%- endif %}
-- threshold: least = 0.5: more than all other kernels together
-- threshold: of_step = 0.2: below a fifth of the step even a kernel twice as fast saves less than a tenth
-- remarks: yes
-- uses: busy
with
total as (
    select sum(ledger_dur) as dur, count(distinct hash(name)) filter (category = 'compute') as kernels
    from busy
)

select
    b.name,
    k.family,
    count(*) as launches,
    sum(b.ledger_dur) as total_ns,
    sum(b.ledger_dur) / any_value(t.dur) as busy_share,
    avg(b.dur) as mean_ns,
    mode(k.limiter) as limiter,
    avg(k.theoretical_occupancy) as occupancy_share
from busy as b
inner join kernel_occupancy as k using (trace_id, slice_id)
cross join total as t
where
    b.category = 'compute'
    -- matrix products on tensor cores are what a GPU is there for
    and not (k.family in ('cublas', 'cutlass', 'nvjet') and k.tensor_core is true)
group by b.name, k.family
having
    sum(b.ledger_dur) > $least * any_value(t.dur)
    and sum(b.ledger_dur) > $of_step * (select total from step_stats where trace_id = $trace_id)
    and any_value(t.kernels) > 1
