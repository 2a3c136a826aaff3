-- Macros that make columns easy to read: times with a unit and from a beginning that means something, and short names.

create or replace macro ms(ns) as ns / 1e6;
comment on macro ms is 'Milliseconds of a time in ns: ms(dur).';

create or replace macro us(ns) as ns / 1e3;
comment on macro us is 'Microseconds of a time in ns: us(dur).';

create or replace macro ms_in_trace(of_trace, moment) as
(moment - (select min(p.ts) from phase_of_run as p where p.trace_id = of_trace)) / 1e6;
comment on macro ms_in_trace is 'Milliseconds from the start of a trace to a time: ms_in_trace(trace_id, ts).';

create or replace macro ms_in_step(of_trace, of_step, moment) as
(moment - (select s.ts from step as s where s.trace_id = of_trace and s.step = of_step)) / 1e6;
comment on macro ms_in_step is 'Milliseconds from the start of a step to a time: ms_in_step(trace_id, step, ts). NULL outside all steps.';

create or replace macro short_name(name, columns := 80) as
if(length(name) <= columns, name, name[: columns - columns // 4 - 1] || '…' || right(name, columns // 4));
comment on macro short_name is 'A name cut to 80 characters, or as many as given, with most of its start and a little of its end.';
