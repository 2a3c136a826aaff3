-- From traceq 0.1. finding, a table until then, is a view on judgement now, whose rows hold what the rules of 0.1 said.
-- gpu_architecture and gpu_model were views, and device_model stands on them.

drop table finding;
delete from judgement;
drop view device_model;
drop view gpu_model;
drop view gpu_architecture;
