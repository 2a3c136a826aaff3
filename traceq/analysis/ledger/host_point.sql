-- Of the threads of a block (host_block.sql) what else bounds their segments: a pass of autograd, which begins and ends in the midst
-- of slices on the thread that waits for it, and switches, from which on a thread is on a CPU or off it. -1: none from here on.
-- reads: _host_running, _phase_interval
select thread_id, ts, phase, state
from (
    select thread_id, ts, enum_code(phase)::tinyint as phase, -2::tinyint as state from _phase_interval where ts_end > ts
    union all
    select thread_id, ts_end, -1, -2 from _phase_interval where ts_end > ts
    union all
    select thread_id, ts, -2, enum_code(state)::tinyint from _host_running
)
where
    thread_id in (select thread_id from cpu_slice)
    and thread_id between $thread and $last_thread
    and (thread_id > $thread or ts >= $ts)
    and (thread_id < $last_thread or ts < $ts_end);
