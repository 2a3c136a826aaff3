-- What rules say of each trace, kept because asking them takes seconds on large traces; and the findings in it, to query.

create table if not exists judgement (
    trace_id integer not null,
    goal varchar not null,
    stamp varchar not null,
    content varchar not null using compression zstd
);
comment on table judgement is 'One row per trace: what the rules said when it was ingested, or by `traceq report DB --save`. Reports read it instead of asking the rules again; the findings in it are in the view finding.';
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

create or replace view account as
select
    j.trace_id,
    a.line.device,
    a.place::integer as line,
    a.line.category,
    a.line.part,
    round(a.line.dur_ns)::bigint as dur,
    a.line.step_share,
    a.line.verdict,
    a.line.finding_id,
    a.line.saving_low_ns as saving_low,
    a.line.saving_ns as saving,
    a.line.saving_high_ns as saving_high,
    a.line.limit as limit_kind,
    a.line.limit_share,
    a.line.reason,
    a.line.remedy,
    a.line.query,
    coalesce(a.line.is_critical, true) as is_critical
from judgement as j, unnest(
    from_json(
        j.content -> '$.account',
        '[{
            "device": "integer", "category": "varchar", "part": "varchar", "dur_ns": "double", "step_share": "double",
            "verdict": "varchar", "finding_id": "varchar", "saving_low_ns": "double", "saving_ns": "double", "saving_high_ns": "double",
            "limit": "varchar", "limit_share": "double", "reason": "varchar", "remedy": "varchar", "query": "varchar",
            "is_critical": "boolean"
        }]'
    )
) with ordinality as a (line, place);
comment on view account is 'One row per line of the account of a trace: time of a category of the ledger of a device (of the training thread without one), in whole or in part, with the verdict on it. Lines of one device and category add up to it.';
comment on column account.device is 'Device; NULL where the training thread is judged.';
comment on column account.line is 'Place, from 1: the critical device first, of each device by length.';
comment on column account.category is 'As in time_ledger, or in host_ledger where no GPU works.';
comment on column account.part is 'The kernel family, operator, call or range that holds most of what findings leave of the category; NULL for the category, or the rest of it.';
comment on column account.dur is 'Its time per counted step, ns.';
comment on column account.step_share is 'dur over the mean step, 0 to 1.';
comment on column account.verdict is 'avoidable, at its limit, cannot tell; small below 5 % of the step, where none is needed.';
comment on column account.finding_id is 'Finding that owns an avoidable line; NULL for others, and for time above what a limit takes that no finding owns.';
comment on column account.saving_low is 'The least that the fix likely wins of it per counted step, ns; NULL where it is not avoidable.';
comment on column account.saving is 'What it likely wins, ns.';
comment on column account.saving_high is 'The most, ns.';
comment on column account.limit_kind is 'Limit that was measured: memory bandwidth, peak of the arithmetic, link or, of time beside which other work takes as long, critical path; NULL for none.';
comment on column account.limit_share is 'How much of the limit is reached, 0 to 1; of the critical path the share that hides beside other work.';
comment on column account.reason is 'Why, in a sentence.';
comment on column account.remedy is 'What to change, or what would tell.';
comment on column account.query is 'SQL behind it; empty for lines of findings and small ones.';
comment on column account.is_critical is 'Whether the device is the one that findings and savings are about.';
