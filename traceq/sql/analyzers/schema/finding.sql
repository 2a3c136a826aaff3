-- What the rules said when they were last asked to keep it.

create table finding (
    trace_id integer not null,
    finding_id varchar not null,
    rule varchar not null,
    title varchar not null,
    rank_order integer not null,
    saving double not null,
    saving_low double not null,
    saving_high double not null,
    confidence varchar not null,
    device integer,
    step_share double not null,
    fix varchar not null,
    query varchar not null
);
comment on table finding is 'One row per finding of each trace, as the last `traceq ingest` or `traceq report DB --save` had them; empty where the database was made by the Python API.';
comment on column finding.trace_id is 'Trace.';
comment on column finding.finding_id is 'Stays the same from one capture of a program to the next.';
comment on column finding.rule is 'Name of the rule; see traceq explain.';
comment on column finding.title is 'What was found.';
comment on column finding.rank_order is 'Place in the ranking by saving, from 1.';
comment on column finding.saving is 'What a fix would likely win per counted step, ns; no time counts for two findings of a trace.';
comment on column finding.saving_low is 'The least of it that is likely, ns.';
comment on column finding.saving_high is 'The most, ns.';
comment on column finding.confidence is 'high, medium or low.';
comment on column finding.device is 'Device it is about; NULL for none.';
comment on column finding.step_share is 'saving over the mean step, 0 to 1.';
comment on column finding.fix is 'What to change.';
comment on column finding.query is 'SQL that gives the claim behind it.';
