-- Pieces of _host_interval (interval_id, lane, thread_id, ts, ts_end), cut at the boundaries of their thread's timeline; found_piece is
-- the Arrow table that host_piece.py makes of them.
insert into _host_piece by name
from found_piece;
