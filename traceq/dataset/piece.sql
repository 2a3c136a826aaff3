-- What a trace says of itself: its rank, that in the name of its file, and when it was recorded, ns since 1970.
select
    rank,
    coalesce(
        nullif(regexp_extract(parse_filename(path), '(?i)(?:rank|worker)[\[\-_/ ]?(\d+)', 1), ''),
        nullif(regexp_extract(path, '(?i)rank[\[\-_ ]?(\d+)\]?/[^/]*$', 1), ''),
        nullif(regexp_extract(parse_filename(path), '(?:^|[_.-])r(\d+)(?:[_.-]|$)', 1), '')
    )::integer as file_rank,
    utc_origin_ns + ts as "begin",
    utc_origin_ns + ts + dur as "end"
from trace
