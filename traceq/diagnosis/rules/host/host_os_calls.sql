-- The training thread's time in calls of the operating system, in a trace without GPU work.
-- title: The main thread waits in the operating system
-- finds: System calls in which the training thread waits or reads, outside input fetching, in traces without GPU
--   activity.
-- matters: The thread does nothing while it waits for a file, a lock, a socket or another process.
-- measured: Own time of the training thread in the counted steps in os slices (host_ledger, category os). Shares: low
--   0.1, likely 0.5, high 1: what it waits for takes time on another thread as well.
-- try: Read ahead, hold locks briefly, do it on a separate thread.
-- references: https://docs.nvidia.com/nsight-systems/UserGuide/index.html
-- heading: Take {{ worst.name | cut }} out of the loop: {{ percent(claimed_share) }} of {% if subject.is_window %}the
--   window{% else %}a step{% endif %} is spent in system calls
-- fix: Use another thread for work whose result is not needed at once (writing, reading ahead). For locks, check
--   which thread holds them. The longest calls are {{ names(pieces) }}, {{ plural(occurrences, 'time') }} in all.
-- confidence: medium
-- reason: The calls are in the trace; what they wait for is not.
-- wrong-if: They wait for work on another thread or process that the step needs.
-- needs: steps, host_alone, os_calls
-- captures: steps, window, by_design
-- low: 0.1
-- likely: 0.5
-- uses: host_time
-- categories: os
select p.step, p.ts, p.dur, p.name, p.slice_id, p.dur as claimed, p.category as cause, p.piece_id as gap_id
from host_time as p
where p.category = 'os' and p.elsewhere is distinct from 'communication'
