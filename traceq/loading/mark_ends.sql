-- Marks of a loop that follow one another and overlap by little: clocks that were rounded, files that a script has written again with
-- times of a few hundred nanoseconds, a mark that begins before the one before it is closed. Nested in one another they would hide
-- all steps but the first, so each ends where the next begins: up to a hundredth of the shorter one earlier, or by a microsecond.
select slice_id, next_ts - ts as dur
from (
    select
        slice_id, ts, dur,
        lead(ts) over w as next_ts,
        lead(dur) over w as next_dur
    from staging.cpu_slice
    where kind = 'annotation' and not coalesce(is_async, false)
    window w as (partition by thread_id, regexp_replace(name, '[0-9]+', '#', 'g') order by ts, slice_id)
)
where
    next_ts > ts
    and ts + dur > next_ts
    and next_ts + next_dur > ts + dur
    and ts + dur - next_ts <= greatest(1000, least(dur, next_dur) // 100)
    and ts + dur - next_ts < least(dur, next_dur) // 2;
