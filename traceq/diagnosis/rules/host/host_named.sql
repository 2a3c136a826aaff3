-- The share of the training thread's time between operators that is in frames of Python; 0 where there is no such time.
-- uses: host_time
select coalesce(sum(dur) filter (category = 'python') / sum(dur), 0)::double as share
from host_time
where category in ('annotation', 'python', 'none', 'other') and elsewhere is null and phase <> 'backward'
