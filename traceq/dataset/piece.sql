-- What a trace says of itself: its rank, that in the name of its file, when it was recorded, ns since 1970, and what it has in
-- common with the others of its job where no run is named (analysis/job/job_rank.sql).
select
    rank,
    coalesce(
        nullif(regexp_extract(parse_filename(path), '(?i)(?:rank|worker)[\[\-_/ ]?(\d+)', 1), ''),
        nullif(regexp_extract(path, '(?i)rank[\[\-_ ]?(\d+)\]?/[^/]*$', 1), ''),
        nullif(regexp_extract(parse_filename(path), '(?:^|[_.-])r(\d+)(?:[_.-]|$)', 1), '')
    )::integer as file_rank,
    utc_origin_ns + ts as "begin",
    utc_origin_ns + ts + dur as "end",
    coalesce('world ' || world_size, 'folder ' || regexp_replace(path, '[^/\\]*$', '')) as job_key
from trace
