-- From traceq 0.1. finding, a table until then, is a view on judgement now, whose rows hold what the rules of 0.1 said.
-- Of a replay it knew the shares only.
-- gpu_architecture and gpu_model were views, and device_model stands on them.

alter table idle_gap add column late_after bigint;
update idle_gap set late_after = drained_by;
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
