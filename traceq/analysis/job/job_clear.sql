-- All jobs are worked out anew: what is true of one rank depends on the others.
-- reads: collective_match, collective_member, group_straggler, job, job_axis_rank, job_group, job_pair, job_path, job_rank, straggler
-- makes: collective_match, collective_member, group_straggler, job, job_axis_rank, job_group, job_pair, job_path, job_rank, straggler
delete from job;
delete from job_rank;
delete from collective_match;
delete from collective_member;
delete from straggler;
delete from group_straggler;
delete from job_group;
delete from job_axis_rank;
delete from job_pair;
delete from job_path;
