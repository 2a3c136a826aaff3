-- Idle time under fetches from worker processes in which the training thread itself is busy: what it does takes of it.
-- title: The main thread works on batches that workers prepared
-- finds: Fetches from a DataLoader with worker processes in which the training thread does not wait but works itself: it
--   unpacks, converts, collates or pins.
-- matters: More workers do not help: this part of the work is done by the same thread that has to launch the GPU's work.
-- measured: data_fetch of loaders of kind multi_process: transform (PyTorch operators), python (frames that do not wait) and
--   calls (CUDA and operating system calls that do not wait). In a fetch where they are at least half (otherwise waiting for
--   workers is the larger part, see too-few-workers), the idle time of cause idle_data (idle_piece) counts by their share.
--   Shares: low 0.4, likely 1 (receiving a batch is not free), high 1.
-- try: Do it in the workers: in the Dataset or collate_fn; return a few large tensors; let pin_memory=True pin memory in a
--   thread.
-- references: https://docs.pytorch.org/docs/stable/data.html#working-with-collate-fn
--   https://docs.pytorch.org/docs/stable/data.html#memory-pinning
-- fix: {% if facts.transform_ns >= facts.python_ns and facts.transform_ns >= facts.calls_ns %}{% set what = 'PyTorch operators'
--   -%} {% set most_ns = facts.transform_ns -%} {% set how = 'Move these operators into the Dataset or collate function, which
--   workers run: `DataLoader(..., collate_fn=collate)`. The workers then return finished batches.' -%} {% elif facts.python_ns
--   >= facts.calls_ns %}{% set what = 'Python code' -%} {% set most_ns = facts.python_ns -%} {% set how = 'Let the collate
--   function return a few large tensors: `collate_fn=lambda samples: torch.stack(samples)`. Lists of Python objects have to be
--   unpacked by this thread.' -%} {% else %}{% set what = program.words.runtime ~ ' and system calls' -%} {% set most_ns =
--   facts.calls_ns -%} {% set how = "Let the loader's own thread pin memory: `DataLoader(..., pin_memory=True)`. Call neither
--   `pin_memory()` nor `to(device)` within the fetch." -%} {% endif %}{{ how }} Workers prepare batches, but a fetch still
--   keeps the main thread busy for {{ per_fetch(facts) }}, mostly with {{ what }} ({{ percent(share_of(most_ns,
--   facts.fetch_ns)) }}), and the GPU idles for {{ per_step(claimed_ns) }} because of it. {{ busiest(facts) }}
-- confidence: {% if has('python_frames') or (facts.transform_ns >= facts.python_ns and facts.transform_ns >=
--   facts.calls_ns) %}high
--   {%- else %}medium
--   {%- endif %}
-- reason: The trace records what the main thread does within its fetches.
-- wrong-if: With this work in the workers, they become the limit (too-few-workers).
-- heading: Finish batches in the workers, not in the main thread
-- for: pytorch
-- needs: gpu, steps, fetches
-- captures: host_only, steps, window
-- unseen: {% set fetched = ask('input_facts')[0] -%} {% if not has('python_frames') and not has('os_calls') and
--   share_of(fetched.unexplained_ns, fetched.fetch_ns) > 1 - least_busy %}{{ lacks('what the main thread does in its
--   fetches is not traced', 'fetch_work') }} {%- endif %}
-- facts: input_facts
-- low: 0.4
-- likely: 1.0
-- threshold: least_busy = 0.5: the larger part of the fetch is its own work
-- uses: fetch_idle
-- categories: idle_data
with
fetched as (
    select slice_id, loader, dur, transform, python, calls, (transform + python + calls) / nullif(dur, 0) as busy_share
    from data_fetch
    where trace_id = $trace_id and loader_kind = 'multi_process'
)

select
    p.step, p.ts, p.dur, f.loader as name, f.slice_id,
    p.dur * f.busy_share * _above(f.busy_share, $least_busy) as claimed,
    p.cause, p.gap_id, f.dur as fetch_ns, f.transform as operators_ns, f.python as python_ns,
    f.calls as calls_ns
from fetch_idle as p
inner join fetched as f on f.slice_id = p.fetch_id
where f.busy_share >= $least_busy
