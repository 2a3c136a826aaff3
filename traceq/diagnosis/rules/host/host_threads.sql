-- The training thread's time in operators of a program with more threads than cores, in a trace without GPU work.
-- title: More threads than cores
-- finds: A program whose operators run on more threads than the process has cores, according to its recorded settings, in
--   traces without GPU activity.
-- matters: Each operator waits for its last thread, and some of the threads wait for a core.
-- measured: Own time of the training thread (host_time) in operators of at least 20 us: shorter ones are not split over
--   threads. With t threads on c cores: low 0 (the threads may have little to do), likely (1 - c/t) / 2, an assumption, high 1
--   (threads that spin while they wait lose even more).
-- try: torch.set_num_threads, OMP_NUM_THREADS; fewer processes or workers on the same cores.
-- references: https://docs.pytorch.org/docs/stable/notes/cpu_threading_torchscript_inference.html
--   https://docs.pytorch.org/docs/stable/generated/torch.set_num_threads.html
-- heading: Use as many threads as there are cores: {{ plural(worst.threads, 'thread') }} on {{ plural(worst.cores, 'core') }},
--   {{ percent(claimed_share) }} of {% if subject.is_window %}the window{% else %}a step{% endif %} is spent in operators
-- fix: Set the number of threads: `torch.set_num_threads({{ worst.cores | int }})`, or `OMP_NUM_THREADS={{ worst.cores | int
--   }}` in the environment. Leave some cores to the loader's workers and to other ranks.
-- confidence: low
-- reason: The numbers of threads and cores are in the run's recorded settings; how long threads wait for a core is not in the
--   trace.
-- wrong-if: The operators are too small to be split over threads, or the threads are idle.
-- for: pytorch
-- needs: steps, host_alone, operators
-- unseen: {% if ask('host_settings')[0].threads is none %}how many threads operators run on is not known; traceq.profile and
--   traceq record write it next to the trace{% endif %}
-- low: 0
-- likely: 0.5
-- threshold: shared_out = 20000: an operator of PyTorch takes the host 5 to 20 us before it computes anything
-- uses: host_time, host_cores
select
    p.step, p.ts, p.dur, p.name, p.slice_id, p.dur as claimed, p.category as cause, p.piece_id as gap_id,
    1 - n.cores / n.threads as goes,
    n.cores,
    n.threads
from host_time as p
cross join host_cores as n
where n.threads > n.cores and p.category = 'operator' and p.dur >= $shared_out
