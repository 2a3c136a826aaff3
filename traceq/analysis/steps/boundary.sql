-- The launches before rounds: _border, one row a round, and in _around the calls that made them, level 0.
-- $threads and so on: those launches' threads and times, and the time of the first launch, one element a round.
-- makes: _around, _border
create or replace temp table _border as
select unnest(range(len($threads))) + 1 as round, unnest($threads) as thread_id, unnest($settled) as settled,
    unnest($launched) as launched, unnest($until) as until;

create or replace temp table _around as
select 0 as level, b.round, b.until, c.parent_id, c.kind, c.ts_end, c.depth
from _border as b
inner join cpu_slice as c on c.thread_id = b.thread_id and c.ts = b.launched and c.kind = 'runtime';
