-- The categories that the ledger holds over the counted steps, most time first.
select l.category
from time_ledger as l
inner join step as s using (step)
where s.excluded is null and l.dur > 0
group by l.category
order by sum(l.dur) desc, l.category
