-- The innermost open slice of each host thread at each instant, without gaps: every start and end of a slice is a boundary, and the
-- beginning of time. host_timeline.py fills it thread by thread, each in the order of time; and _host_extent, which of its rows, numbered
-- from 0, are whose.
-- makes: _host_extent, _host_timeline
create or replace temp table _host_timeline
(
    thread_id integer,
    ts bigint,
    slice_id bigint,
    activity host_activity,
    phase host_phase,
    synchronizing_id bigint
);

create or replace temp table _host_extent
(
    thread_id integer,
    first bigint,
    last bigint
);
