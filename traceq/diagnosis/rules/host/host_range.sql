-- The training thread's time in one range whose within the trace does not show, in a trace without GPU work.
-- title: Unexplained time in a marked range
-- finds: Ranges (NVTX, record_function) that take up most of a step, in traces without GPU activity and without operators, or
--   in the backward pass while no operator runs.
-- matters: The trace shows where the time of a step goes, but not why: look inside this range.
-- measured: Own time of the training thread in the counted steps in ranges of one name (digits aside), without what is nested
--   in them, while no other thread of its process runs operators or communicates; the three ranges with the most time, if they
--   take at least a twentieth of the steps. Shares: low 0, likely 0.5 and high 1, as for everything that cannot be replayed.
-- try: Record what happens in the range: operators, GPU activity, Python stacks.
-- references: https://docs.pytorch.org/docs/stable/profiler.html
--   https://docs.nvidia.com/nsight-systems/UserGuide/index.html
-- each: host_ranges
-- heading: Record what happens in {{ worst.name | cut }}: {{ percent(claimed_share) }} of {% if subject.is_window
--   %}the window{% else %}a step{% endif %}
-- key: {{ worst.range | cut }}
-- fix: Record the GPU and the host's calls, then run the report again. Nothing is recorded within {{ worst.name | cut }} ({{
--   per_step(claimed_ns) }}); to record the GPU: {{ way('gpu', 'if there is one') }}. If this range computes on the host, move
--   it to the GPU or make it parallel first.
-- confidence: low
-- reason: The trace shows where the time goes, but not how much of it can be saved.
-- wrong-if: In this range the program waits for a GPU, or for another process, that is not in the trace.
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
