-- Idle time in which the launching thread was in a call of the operating system.
-- title: GPU idle: the launching thread is in a system call
-- finds: Time in which nothing runs on the GPU because the launching thread reads or writes a file, waits for a lock, sleeps,
--   or polls.
-- matters: A blocked thread launches nothing. Another thread can do the work it waits for, or the wait can be removed.
-- measured: The pieces of cause idle_os in the counted steps (idle_piece), all of them. Calls within CUDA calls count as CUDA
--   calls, and calls within ranges of input or checkpoints as input or checkpoints. Only nsys records such calls
--   (--trace=osrt), and only those above a threshold (1 us). Low 0.3, likely 1, high 1: what the thread waits for may take time
--   elsewhere.
-- try: Terminals and pipes: pass the input as a file. Files: read ahead, and write in a separate thread. Locks: find out which
--   thread holds them. Sleeping and polling: wait for the event instead. Shells and processes: start them once, before the
--   loop.
-- references: https://docs.nvidia.com/nsight-systems/UserGuide/index.html
-- fix: {% set call = facts.name -%} {% if call | matched('^(sem_|pthread_(mutex|cond|rwlock|join|barrier)|futex)') %}Hand work
--   over without waiting: use a queue with room for more than one item. The thread waits for another one; look at what that
--   thread does at this time. {%- elif call | matched('sleep') %}Remove the sleep, or wait for the real condition: an event, a
--   future, a queue. {%- elif call | matched('^(p?poll|select|epoll|recv|accept|connect|send)') %}The thread waits for another
--   process, a device or the network: let a separate thread wait, and hand the result over when it arrives. {%- elif call |
--   matched('^(f?(read|get)|p?readv?|open|stat|lstat|fstat|fopen|access|getc|scanf|fscanf)') %}Read ahead in a separate thread,
--   and in large pieces {%- if program.language == 'python' %} (`future = concurrent.futures.ThreadPoolExecutor(1).submit(read,
--   path)`, used when the result is needed) {%- endif %}. {%- elif call |
--   matched('^(f?(write|put|print|sync|flush|close)|p?writev?|puts|putc|fdatasync|vfprintf)') %}Write in a separate thread {%-
--   if program.language == 'python' %} (`concurrent.futures.ThreadPoolExecutor(1).submit(write, data)`) {%- endif %}. {%- elif
--   call | matched('^ioctl') %}The GPU's driver makes this call to set up the GPU or to map memory. Allocate and register
--   memory once, before the loop; at the start of a program this is part of start-up. {%- elif call |
--   matched('^(mmap|munmap|madvise|brk|mprotect)') %}Reuse host memory instead of mapping it again: allocate buffers once,
--   before the loop. {%- elif call | matched('^(fork|vfork|execve|posix_spawn|system|waitpid|wait4|pthread_create|clone)')
--   %}Start threads and processes once, before the loop {%- if program.is_pytorch and program.trains %} (DataLoader:
--   persistent_workers=True) {%- endif %}. {%- else %}Move it off the launching thread. {%- endif %} By call: {{ shares(rows)
--   }}; up to {{ time(longest_ns) }} at a time.
-- made-by: host-preempted
-- facts: blocking_os_call_facts
-- confidence: medium
-- reason: The call is in the trace; why the program makes it is not.
-- wrong-if: The thread has nothing to do but wait for work{% if program.is_server %}, like a server between requests{% endif
--   %}.
-- needs: gpu, steps, os_calls
-- low: 0.3
-- likely: 1.0
-- threshold: typed_ns = 100000000: a tenth of a second, faster than anybody types: a longer read of characters waits for a
--   person or another program
-- rest: yes
-- uses: idle
-- categories: idle_os
-- heading: Move {{ cut(facts.name) }} off the launching thread
select p.step, p.ts, p.dur, c.name, p.cpu_slice_id as slice_id, p.dur as claimed, p.cause, p.gap_id, p.slice_dur as in_slice_ns, c.dur as call_ns
from idle as p
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
where
    p.cause = 'idle_os'
    -- the program waits for whoever sits at its terminal
    and not coalesce(regexp_matches(c.name, '^(f?getc(har)?|getc_unlocked|gets|getline|fgets|v?f?scanf)$') and c.dur >= $typed_ns, false)
