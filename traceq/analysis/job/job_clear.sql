-- All jobs are worked out anew: what is true of one rank depends on the others.
delete from job;
delete from job_rank;
delete from collective_match;
delete from collective_member;
delete from straggler;
