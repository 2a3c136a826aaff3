-- What rules say of each trace, kept because asking them takes seconds on large traces; and the findings in it, to query.

create table if not exists judgement (
    trace_id integer not null,
    goal varchar not null,
    stamp varchar not null,
    content varchar not null using compression zstd
);
comment on table judgement is 'One row per trace: what the rules said when it was ingested, or by `traceq report DB --save`. Reports read it instead of asking the rules again; the findings in it are in the view finding.';
comment on column judgement.trace_id is 'Trace.';
comment on column judgement.goal is 'What the advice optimises for: throughput or latency.';
comment on column judgement.stamp is 'Hash of the rules and of the traces of the database: with others the trace is judged again.';
comment on column judgement.content is 'JSON: findings, observations, and the rules that found nothing, cannot tell or failed.';

create or replace view finding as
select
    j.trace_id,
    f.finding.finding_id,
    f.finding.rule,
    f.finding.title,
    f.place::integer as rank_order,
    f.finding.saving_ns as saving,
    f.finding.saving_low_ns as saving_low,
    f.finding.saving_high_ns as saving_high,
    f.finding.confidence,
    f.finding.where.device,
    f.finding.saving_ns / (f.finding.expected_step_ns + f.finding.saving_ns) as step_share,
    f.finding.fix,
    f.finding.summary.query
from judgement as j, unnest(
    from_json(
        j.content -> '$.findings',
        '[{
            "finding_id": "varchar", "rule": "varchar", "title": "varchar", "where": {"device": "integer"}, "saving_ns": "double",
            "saving_low_ns": "double", "saving_high_ns": "double", "expected_step_ns": "double", "confidence": "varchar",
            "fix": "varchar", "summary": {"query": "varchar"}
        }]'
    )
) with ordinality as f (finding, place);
comment on view finding is 'One row per finding of each trace, as the rules said when it was ingested, or by the last `traceq report DB --save`. Of a job of more than four ranks only those in job_suspect were asked.';
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
