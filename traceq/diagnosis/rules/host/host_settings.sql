-- How many cores and threads the program had, one row.
-- uses: host_cores
select cores, threads
from host_cores
