-- What every event of an exported trace is written with.

-- Nanoseconds as microseconds with exactly three decimals: by decimals, because doubles round.
create or replace temp macro _micro(t) as (t::decimal(20, 0) * 0.001::decimal(4, 3))::varchar;

-- A text in quotes, cut after `most` characters.
create or replace temp macro _quoted(s, most) as to_json(if(length(s) > most, left(s, most) || '…', s))::varchar;

-- An event of a track (pid, tid): `head` is its phase and what else comes first, category and name are JSON, ts is in ns, `rest` is
-- what comes after the time, and args are the members of the last one.
create or replace temp macro _event(head, category, name, pid, tid, ts, rest, args) as
concat(
    head, ',"cat":', category, ',"name":', name, ',"pid":', pid, ',"tid":', tid, ',"ts":', _micro(ts), rest, ',"args":{', args, '}}'
);

-- A slice; ts and dur in ns.
create or replace temp macro _slice(category, name, pid, tid, ts, dur, args) as
_event('{"ph":"X"', category, name, pid, tid, ts, concat(',"dur":', _micro(dur)), args);

-- The members of the JSON object that args holds, without its braces. DuckDB takes NaN, Infinity and commas too many for JSON, and
-- browsers do not: what might hold them is written as text, and so is what is no object.
create or replace temp macro _members(args, most) as
case
    when args is null then null
    when length(args) > most then '"args":' || to_json(left(args, most) || '…')
    when
        starts_with(args, '{')
        and json_valid(args)
        and not regexp_matches(args, '[:\[,]\s*[-+]?(nan|inf)|,\s*[\]}]', 'i')
        then nullif(trim(args[2:-2]), '')
    else '"args":' || to_json(args)
end;

-- Which GPU slices an arrow leads to, and the call from which it comes. Perfetto wants an arrow to lead forward in time.
create or replace temp table _arrow (slice_id bigint, launch_id bigint);

-- Slices that are drawn beside their track because they overlap others there without nesting; work of graphs on many streams is drawn
-- by role, a number below -1 that stands for the stream.
create or replace temp table _lane (place varchar, slice_id bigint, lane integer, role bigint);

-- Which process and thread of the exported trace a track is. What a and b are depends on the place: tracks.sql.
create or replace temp table _track (place varchar, a bigint, b bigint, lane integer, pid bigint, tid bigint);
