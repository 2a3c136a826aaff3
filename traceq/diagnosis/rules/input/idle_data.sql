-- Idle time in which the host fetches input.
-- confidence: medium
-- reason: The range is named as fetching; what limits it is not known.
-- wrong-if: A run on random batches made once on the GPU has steps as long as these.
-- needs: gpu, steps, fetches
-- low: 0.3
-- likely: 1.0
-- rest: yes
-- uses: idle
-- categories: idle_data
select
    p.step,
    p.ts,
    p.dur,
    coalesce(f.loader, c.name) as name,
    coalesce(f.slice_id, c.slice_id) as slice_id,
    p.dur as claimed,
    p.cause,
    p.gap_id,
    f.loader_kind,
    f.dur as fetch_ns
from idle as p
left join cpu_slice as c on c.trace_id = p.trace_id and c.slice_id = p.cpu_slice_id
left join data_fetch as f on f.trace_id = p.trace_id and f.slice_id = coalesce(c.context_id, c.slice_id)
where p.cause = 'idle_data'
