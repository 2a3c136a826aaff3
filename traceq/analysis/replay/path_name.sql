-- Numbers of the names of slices: as text they would fill the memory.
-- reads: graph_operator
-- makes: _path_name
create or replace temp table _path_name as
select name, (row_number() over (order by name) - 1)::integer as number
from (
    select name from cpu_slice
    union
    select name from gpu_slice
    union
    select name from graph_operator
);
