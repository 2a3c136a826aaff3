-- The training thread's time in one range whose within the trace does not show, in a trace without GPU work.
-- title: Unexplained time in a marked range
-- finds: Ranges (NVTX, record_function) that most of a step is in, in traces without GPU activity that hold no operators, or
--   in the backward pass with no operator anywhere.
-- matters: It is known where the step goes, and not why: the range is where to look.
-- measured: Own time of the training thread in the counted steps in ranges of one name (digits aside), without what is nested in
--   them, while no other thread of its process runs operators or communicates; the three ranges of most time, from a
--   twentieth of the steps on. Shares: low 0, likely 0.5 and high 1, as of everything that cannot be replayed.
-- try: Record what happens in it: operators, GPU activity, Python stacks.
-- references: https://docs.pytorch.org/docs/stable/profiler.html
--   https://docs.nvidia.com/nsight-systems/UserGuide/index.html
-- each: host_ranges
-- heading: Record what happens in {{ worst.name | cut }}: {{ percent(claimed_share) }} of {% if subject.is_window
--   %}the window{% else %}a step{% endif %}
-- key: {{ worst.range | cut }}
-- fix: Record the GPU and what the host calls, then report again. Nothing is recorded within {{ worst.name | cut }}
--   ({{ per_step(claimed_ns) }}); to record the GPU: {{ way('gpu', 'if there is one') }}. If it computes on the host,
--   it is the first thing to move to the GPU or to make parallel.
-- confidence: low
-- reason: Where the time goes is measured; what of it can be saved is not in the trace.
-- wrong-if: The range is where the program waits for a GPU, or for another process, that the trace does not hold.
-- needs: steps, host_alone, annotations
-- low: 0
-- likely: 0.5
-- uses: host_time
select p.step, p.ts, p.dur, p.name, p.slice_id, p.dur as claimed, p.category as cause, p.piece_id as gap_id, r.range
from host_time as p
inner join (
    select range, row_number() over (order by dur desc, range) as place
    from (
        select regexp_replace(name, '\d+', '#', 'g') as range, sum(dur) as dur
        from host_time
        where category = 'annotation' and elsewhere is null and (phase = 'backward' or not $has_operators)
        group by range
    )
) as r on r.range = regexp_replace(p.name, '\d+', '#', 'g')
where
    p.category = 'annotation'
    and p.elsewhere is null
    and (p.phase = 'backward' or not $has_operators)
    and r.place = $place
