-- nccl-tests' factors: what each rank must move at least, as a share of the message; is_shared: of that (ranks - 1) / ranks.
-- makes: _bus_factor

create or replace temp table _bus_factor as
from (values
    ('all_reduce', 2, true),
    ('all_gather', 1, true),
    ('reduce_scatter', 1, true),
    ('all_to_all', 1, true),
    ('gather', 1, true),
    ('scatter', 1, true),
    ('broadcast', 1, false),
    ('reduce', 1, false),
    ('send', 1, false),
    ('recv', 1, false),
    ('send_recv', 1, false)
) as t (op, factor, is_shared);
