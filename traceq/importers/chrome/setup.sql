-- Events join the few families there are, not the other way round: that keeps them in order.
set disabled_optimizers = 'join_order,build_side_probe_side';

-- Members that are no text: true, numbers, lists, objects. (A text that looks like one costs time, and nothing else.)
create macro _is_text(x) as
    x is null
    or not (
        (x >= '0' and x < ':') or (x >= '-' and x < '.') or x in ('true', 'false') or starts_with(x, '{')
        or (starts_with(x, '[') and x <> '[memory]')
    );

-- Nothing, or a whole number written as one that fits 64 or 32 bits.
create macro _is_integer(x) as x is null or coalesce(try_cast(x as bigint)::varchar = x, false);
create macro _is_int32(x) as x is null or coalesce(try_cast(x as integer)::varchar = x, false);
create macro _is_int32_list(x) as
    x is null or coalesce(replace(try_cast(x as integer[])::varchar, ' ', '') = x, false);

-- The name of a Python frame with slashes for the backslashes of Windows, also for those that were not escaped in the file and
-- made a control character of the letter after them.
create macro _with_slashes(name) as
    replace(replace(replace(replace(replace(replace(
        name, chr(8), '/b'), chr(9), '/t'), chr(10), '/n'), chr(12), '/f'), chr(13), '/r'), '\', '/');

-- Microseconds as integer nanoseconds; halves go to the even one.
create macro _ns(us) as floor(us)::bigint * 1000 + ((us - floor(us)) * 1000)::bigint;
