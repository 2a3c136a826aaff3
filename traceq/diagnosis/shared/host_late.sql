-- Idle time in which the host was late with work of its own: not waiting for the GPU, nor for other ranks.
-- uses: idle
select *, ts + dur // 2 as middle
from idle
where cause in ('idle_data', 'idle_launch', 'idle_python', 'idle_cpu', 'idle_os', 'idle_checkpoint', 'idle_compile')
