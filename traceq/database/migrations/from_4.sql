-- From traceq 0.1. finding, a table until then, is a view on judgement now, whose rows hold what the rules of 0.1 said.
-- Of a replay it knew the shares only.
-- gpu_architecture and gpu_model were views, and device_model stands on them.

alter table memory_timeline add column active bigint;
alter table idle_gap add column late_after bigint;
update idle_gap set late_after = drained_by;
-- The rest of a gap in which a call still waits when it begins; of later gaps nothing was known.
create table wait_debt
(
    trace_id integer not null,
    gap_id bigint not null,
    slice_id bigint not null,
    dur bigint not null
);
insert into wait_debt
select g.trace_id, g.gap_id, g.drained_by, g.dur - coalesce(c.dur, 0)
from idle_gap as g
left join idle_gap_cause as c on c.trace_id = g.trace_id and c.gap_id = g.gap_id and c.cause = 'idle_sync'
where g.drained_by is not null and g.dur > coalesce(c.dur, 0);
alter table cpu_slice add column module_id bigint;
alter table cpu_slice add column line_id bigint;
alter table thread add column rank integer;
alter table trace add column utc_zone_ns bigint;
alter table counter add column instance varchar;
alter table counter add column log_id integer;
alter table collective add column group_rank integer;
alter table collective add column reduction varchar;
alter table idle_gap_cause add column slice_dur bigint;
-- Of the slices that filled a gap only the one with most of each cause was known: it stands for all.
create table idle_culprit
(
    trace_id integer not null,
    gap_id bigint not null,
    cause varchar not null,
    slice_id bigint not null,
    dur bigint not null
);
insert into idle_culprit
select trace_id, gap_id, cause, cpu_slice_id, dur
from idle_gap_cause
where cpu_slice_id is not null and cause not in ('idle_launch_latency', 'idle_dependency', 'idle_earlier_work');
alter table operator_cost add column ceiling_dur bigint;
alter table operator_cost add column reachable_dur bigint;
alter table operator_cost add column filled_dur bigint;
alter table operator_cost add column ceiling_limit varchar;
alter table replay add column saved_low bigint;
alter table replay add column saved_high bigint;
alter table replay add column saved_quarter bigint;
alter table replay add column on_path bigint;
alter table replay add column unexplained double;
update replay set
    saved_low = (share_low * removable)::bigint,
    saved_high = (share_high * removable)::bigint,
    saved_quarter = saved // 4;
drop table finding;
delete from judgement;
drop view device_model;
drop view gpu_model;
drop view gpu_architecture;
