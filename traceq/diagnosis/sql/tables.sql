-- What rules say of each trace, kept because asking them takes seconds on large traces; and the findings in it, to query.

--: One row per trace: what the rules said when it was ingested, or by `traceq report DB --save`. Reports read it
--: instead of asking the rules again; the findings in it are in the view finding.
create table if not exists judgement (
    --: Trace.
    trace_id integer not null,
    --: What the advice optimises for: throughput or latency.
    goal varchar not null,
    --: Hash of the rules and of the traces of the database: with others the trace is judged again.
    stamp varchar not null,
    --: JSON: findings, observations, and the rules that found nothing, cannot tell or failed.
    content varchar not null using compression zstd
);

--: One row per finding of each trace, as the rules said when it was ingested, or by the last `traceq report DB --save`.
--: Of a job of more than four ranks only those in job_suspect were asked.
create or replace view finding as
select
    --: Trace.
    j.trace_id,
    --: Stays the same from one capture of a program to the next.
    f.finding.finding_id,
    --: Name of the rule; see traceq explain.
    f.finding.rule,
    --: What was found.
    f.finding.title,
    --: Place in the ranking by saving, from 1.
    f.place::integer as rank_order,
    --: What a fix would likely win per counted step, ns; no time counts for two findings of a trace.
    f.finding.saving_ns as saving,
    --: The least of it that is likely, ns.
    f.finding.saving_low_ns as saving_low,
    --: The most, ns.
    f.finding.saving_high_ns as saving_high,
    --: high, medium or low.
    f.finding.confidence,
    --: Device it is about; NULL for none.
    f.finding.where.device,
    --: saving over the mean step, 0 to 1.
    f.finding.saving_ns / (f.finding.expected_step_ns + f.finding.saving_ns) as step_share,
    --: What to change.
    f.finding.fix,
    --: SQL that gives the claim behind it.
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

--: One row per line of the account of a trace: time of a category of the ledger of a device (of the training thread
--: without one), in whole or in part, with the verdict on it. Lines of one device and category add up to it.
create or replace view account as
select
    --: Trace.
    j.trace_id,
    --: Device; NULL where the training thread is judged.
    a.line.device,
    --: Place, from 1: the critical device first, of each device by length.
    a.place::integer as line,
    --: As in time_ledger, or in host_ledger where no GPU works.
    a.line.category,
    --: The kernel family, operator, call or range that holds most of what findings leave of the category; NULL for the
    --: category, or the rest of it.
    a.line.part,
    --: Its time per counted step, ns.
    round(a.line.dur_ns)::bigint as dur,
    --: dur over the mean step, 0 to 1.
    a.line.step_share,
    --: avoidable, at its limit, cannot tell; small below 5 % of the step, where none is needed.
    a.line.verdict,
    --: Finding that owns an avoidable line; NULL for others, and for time above what a limit takes that no finding
    --: owns.
    a.line.finding_id,
    --: The least that the fix likely wins of it per counted step, ns; NULL where it is not avoidable.
    a.line.saving_low_ns as saving_low,
    --: What it likely wins, ns.
    a.line.saving_ns as saving,
    --: The most, ns.
    a.line.saving_high_ns as saving_high,
    --: Limit that was measured: memory bandwidth, peak of the arithmetic, link or, of time beside which other work
    --: takes as long, critical path; NULL for none.
    a.line.limit as limit_kind,
    --: How much of the limit is reached, 0 to 1; of the critical path the share that hides beside other work.
    a.line.limit_share,
    --: Why, in a sentence.
    a.line.reason,
    --: What to change, or what would tell.
    a.line.remedy,
    --: SQL behind it; empty for lines of findings and small ones.
    a.line.query,
    --: Whether the device is the one that findings and savings are about.
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
