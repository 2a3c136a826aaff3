-- What may be drawn of the hosts on the tracks from $first to $last, cut at the ends.
select track, depth, slice_id as number, greatest(ts, $ts) as ts, least(ts_end, $ts_end) as ts_end
from timeline_host
where track between $first and $last
