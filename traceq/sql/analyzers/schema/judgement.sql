-- What all rules say of a trace, as traceq itself reads it again: rules take seconds on large traces.

create table judgement (
    trace_id integer not null,
    goal varchar not null,
    stamp varchar not null,
    content varchar not null using compression zstd
);
comment on table judgement is 'One row per trace that was judged when it was ingested: what reports need not work out again. For traceq itself; the findings in it are in the table finding.';
comment on column judgement.trace_id is 'Trace.';
comment on column judgement.goal is 'What the advice is to serve: throughput or latency.';
comment on column judgement.stamp is 'Hash of the rules and of the traces of the database: with others the trace is judged again.';
comment on column judgement.content is 'JSON: findings, observations, and the rules that found nothing, cannot tell or failed.';
