-- Two logs of different steps at the same time, which are of two runs: the first pair by their numbers. Logs of ranks tell of
-- the same steps at about the same time. About is a tenth of the time that they overlap, or twice the time between two lines.
with
span as (
    select log_id, min(at_ns) as first_at, max(at_ns) as last_at, (max(at_ns) - min(at_ns)) / greatest(count(*) - 1, 1) as gap
    from run_step
    where trace_id = $trace_id and at_ns is not null
    group by log_id
),

pair as (
    select
        a.log_id as one, b.log_id as other,
        greatest(a.first_at, b.first_at) as ts,
        least(a.last_at, b.last_at) as ts_end,
        greatest(2 * greatest(a.gap, b.gap), (least(a.last_at, b.last_at) - greatest(a.first_at, b.first_at)) / 10) as near
    from span as a
    inner join span as b on b.log_id > a.log_id
    where a.first_at < b.last_at and b.first_at < a.last_at
),

-- each line of one in the overlap, and the lines of the other that say the same step about then
compared as (
    select p.one, p.other, p.near, s.step, s.at_ns, o.step as other_step, o.at_ns as other_at
    from pair as p
    inner join run_step as s on s.trace_id = $trace_id and s.log_id = p.one and s.at_ns between p.ts and p.ts_end
    left join run_step as o on o.trace_id = $trace_id and o.log_id = p.other and o.step = s.step
        and o.at_ns between s.at_ns - p.near and s.at_ns + p.near
)

select a.file, b.file
from (
    select one, other, count(distinct at_ns) as lines, count(distinct at_ns) filter (other_at is not null) as alike
    from compared
    group by one, other
) as c
inner join run_log as a on a.trace_id = $trace_id and a.log_id = c.one
inner join run_log as b on b.trace_id = $trace_id and b.log_id = c.other
where c.alike * 2 < c.lines
order by c.one, c.other
limit 1;
