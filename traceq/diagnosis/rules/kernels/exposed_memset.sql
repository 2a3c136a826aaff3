-- Memsets in whose time nothing else ran.
-- title: Exposed memsets
-- finds: Memsets during which nothing else runs on the GPU, and that no other rule explains.
-- matters: In this time the GPU writes zeros and computes nothing.
-- measured: Category memset of the ledger, divided by the durations of memsets (busy_piece), all of it. Shares: 0
--   low, 0.5 likely (libraries need some of their workspaces zeroed), 1 high.
-- try: torch.empty instead of torch.zeros where everything is overwritten anyway; buffers that are zeroed once and
--   kept; zero_grad(set_to_none=True).
-- references: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
-- fix: {{ remedy('zero_less') }} {{ plural(occurrences / steps, 'memset') }} per step take {{ time(claimed_ns) }} in
--   which nothing else runs.
-- confidence: medium
-- reason: The time is measured; which of the memsets are needed is not known.
-- wrong-if: They clear a library's workspaces, which have to be zeroed.
-- heading: Zero less memory
-- needs: gpu, steps
-- about: memsets
-- low: 0.0
-- likely: 0.5
-- high: 1.0
-- rest: yes
-- uses: busy
-- categories: memset
select
    step, ts, dur, name, slice_id, ledger_dur as claimed, category as cause,
    slice_id as busy_id
from busy
where category = 'memset' and ledger_dur > 0
