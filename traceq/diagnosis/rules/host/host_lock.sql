-- The training thread's time in waiting for locks, in a trace without GPU work.
-- title: Steps wait for a lock
-- finds: Time in which the training thread waits for a lock, by Python's frames, outside of fetches of input and in traces without
--   GPU activity, and what another thread of the program does meanwhile. Waiting for another thread's work (an event, a queue, a
--   future, the end of a thread) does not count.
-- matters: The thread does nothing while another one keeps what it waits for.
-- measured: Own time of the training thread in the counted steps (host_time) in calls of acquire, and in entering a `with`
--   statement, unless a function of threading.py, queue.py or concurrent.futures calls them. Shares: low 0.2 (the other thread's work is needed
--   first), likely 0.9 (the lock is kept for the copy only), high 1.
-- try: Keep a lock only while data is copied, and write, send or compute without it; a queue of its own for each thread.
-- references: https://docs.python.org/3/library/threading.html#lock-objects
--   https://docs.python.org/3/library/queue.html
-- heading: Wait less for a lock: {{ percent(claimed_share) }} of {% if subject.is_window %}the window{% else %}a step{% endif %} is
--   spent waiting in {{ worst.name | cut }}
-- fix: {% if facts.holder %}Let {{ facts.holder | cut }} keep what {{ cut(worst.name) }} waits for only while it copies data:
--   it runs in {{ facts.thread or 'another thread' }} during {{ percent(facts.share) }} of the waiting. {% else %}Find which thread
--   keeps what {{ cut(worst.name) }} waits for, and let it do so only while it copies data. {% endif %}It waits {{
--   per_step(claimed_ns) }}. Writing, sending and computing need no lock once the data is copied.
-- confidence: {% if facts.holder %}medium{% else %}low{% endif %}
-- reason: The frames show that the thread waits{% if facts.holder %}, and what another thread does meanwhile{% else %}; what for is
--   not in the trace{% endif %}.
-- wrong-if: The step needs what the other thread is working on.
-- needs: steps, host_alone, python_frames
-- facts: host_lock_holders
-- low: 0.2
-- likely: 0.9
-- uses: host_time, lock_wait
select p.step, p.ts, p.dur, w.name, p.slice_id, p.dur as claimed, p.category as cause, p.piece_id as gap_id
from host_time as p
inner join lock_wait as w on w.piece_id = p.piece_id
