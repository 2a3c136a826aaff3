-- Idle time in which TorchScript's executor compiles a scripted function, between the operators that it runs of it or before its first.
-- title: TorchScript compiles scripted functions
-- finds: Time in which nothing runs on the GPU because TorchScript's profiling executor compiles: inside a scripted function
--   but outside its operators, or right before the function runs for the first time.
-- matters: It happens in the first calls of a function, and again for new shapes; later calls take microseconds. Fewer launches
--   would not change that, nor would torch.compile, which has to compile as well.
-- measured: Scripted functions are operators that contain one of TorchScript's own: fallback_function, or a kernel that its
--   fuser made (fused_ADD_MUL_..._HASH). Claimed is the idle time (idle_piece) of 1 ms and more in the function itself, and of
--   10 ms and more with nothing recorded, right before the launch of one that runs for the first time in the capture. Low 0.5,
--   likely 1, high 1: each new shape is compiled again.
-- try: Warm up: call the function three times with every shape. Freeze the module. Use fewer shapes.
-- references: https://docs.pytorch.org/docs/stable/jit.html
--   https://docs.pytorch.org/docs/stable/generated/torch.jit.freeze.html
-- for: pytorch
-- fix: Warm up: call scripted functions three times with every shape before you measure. TorchScript compiles in the first
--   calls and for new shapes ({{ names(pieces[:3]) }}), {{ time(longest_ns) }} at worst{% if program.can_compile %};
--   torch.compile would have to compile as well{% endif %}. For a module in eval(), `torch.jit.freeze(module)` leaves less to
--   compile; if start-up time matters more than speed, `torch.jit.optimized_execution(False)` around the calls compiles
--   nothing.
-- confidence: high
-- reason: Operators of TorchScript's executor show that the function is scripted; the time is spent between them, where the
--   interpreter needs only microseconds.
-- wrong-if: A later call of the function with the same shapes takes just as long.
-- heading: Warm up scripted functions: TorchScript compiles in their first calls
-- same-fix: code-loading
-- needs: gpu, steps, operators
-- low: 0.5
-- likely: 1.0
-- threshold: least_ns = 1000000: a hundred times what the interpreter takes from one operator to the next
-- threshold: before_ns = 10000000: beyond what is between two operators of a loop; compiling one kernel takes about a hundred ms
-- uses: idle
-- categories: idle_launch, idle_unattributed
-- only-with: host_slice_name: kind = 'op' and (name = 'fallback_function' or regexp_matches(name, '^fused_\w+_\d{10,}$'))
with
scripted as (
    select distinct c.name
    from cpu_slice as f
    inner join cpu_slice as c on c.trace_id = f.trace_id and c.slice_id = f.operator_id
    where
        f.trace_id = $trace_id
        and f.kind = 'op'
        and (f.name = 'fallback_function' or regexp_matches(f.name, '^fused_\w+_\d{10,}$'))
        and c.kind = 'op'
        and c.name <> 'fallback_function'
),

run as (
    select slice_id, thread_id, name, ts, row_number() over (partition by name order by ts, slice_id) as number
    from cpu_slice
    where trace_id = $trace_id and kind = 'op' and (name = 'fallback_function' or name in (from scripted))
),

first_run as (
    select r.slice_id, r.thread_id, r.name, r.ts, c.ts_end
    from run as r
    inner join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = r.slice_id
    where r.number = 1
)

select p.step, p.ts, p.dur, r.name, r.slice_id, p.slice_dur as claimed, p.cause, p.gap_id, null as scenario
from idle as p
inner join run as r on r.slice_id = p.cpu_slice_id
where p.cause = 'idle_launch' and p.slice_dur >= $least_ns
union all
select p.step, p.ts, p.dur, r.name, r.slice_id, p.dur, p.cause, p.gap_id, 'host_unrecorded'
from idle as p
inner join cpu_slice as l on l.trace_id = p.trace_id and l.slice_id = p.launch_slice_id
inner join first_run as r on r.thread_id = l.thread_id and l.ts >= r.ts and l.ts < r.ts_end
where p.cause = 'idle_unattributed' and p.dur >= $before_ns
