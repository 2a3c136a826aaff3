-- Whether most of the rounds that start at `starts` on one thread lie in one call of a module: its layers do. Most lie in a call only
-- where the one in the middle does.
select coalesce(max(len(list_filter($starts, lambda ts: ts >= c.ts and ts < c.ts_end))) > 0.5 * len($starts), false)
from cpu_slice as c
where
    c.thread_id = $thread_id
    and c.kind = 'python'
    and c.ts <= $middle
    and c.ts_end > $middle
    and regexp_matches(c.name, '^nn\.Module: |\.py\(\d+\): forward$');
