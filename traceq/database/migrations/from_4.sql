-- From traceq 0.1. finding, a table until then, is a view on judgement now, whose rows hold what the rules of 0.1 said.

drop table finding;
delete from judgement;
