-- Whether the database may hold a job, or holds one: several traces, a program of several ranks, or several GPUs that communicate.
-- reads: job
select
    (select count(*) > 1 or coalesce(bool_or(world_size > 1), false) from trace)
    or (select count(*) > 0 from job)
    or (select count(distinct device) > 1 from gpu_slice where is_communication)
