-- Time in short gaps in which the host was late to launch.
-- uses: idle
select coalesce(sum(dur), 0) as dur
from idle
where cause in ('idle_launch', 'idle_python') and dur < 1000000
