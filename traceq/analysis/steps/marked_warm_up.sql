-- Ranges that the program itself calls warming up, each with the end of all that started before: what starts until then lies in one.
-- makes: _marked_warm_up
create temp table _marked_warm_up as
select ts, max(ts_end) over (order by ts, ts_end rows unbounded preceding) as until
from cpu_slice
where
    kind = 'annotation'
    and name in (from (select distinct name from cpu_slice where kind = 'annotation') where _warms_up(name));
