-- Where rounds of launches start on the host: after what the launch before the first of each is part of.
-- reads: _around, _border
select b.round, greatest(b.settled, coalesce(max(a.ts_end) filter (a.kind in ('op', 'python')), b.settled)) as ts
from _border as b
left join _around as a using (round)
group by b.round, b.settled
order by b.round;
