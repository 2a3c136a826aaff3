-- What decoding requests wait for prompts, by how: steps of prompts only between theirs, or prompts in the same step.
-- title: Prefill delays decoding requests
-- finds: Prompt-only steps between two steps that decode, and mixed steps that compute prompts along with next tokens and take
--   longer than decode steps of their size.
-- matters: Every decoding request waits that much longer for its next token, which shows in the tail of the time per token. The
--   GPU computes prompts in that time, so no throughput is lost.
-- measured: serving_stall in the counted steps: the time of prompt-only steps, or what a mixed step takes beyond the median
--   decode step with as many decoding requests. It must happen at least three times and take 10 % of the time in which decoding
--   requests are served (steps that decode, and these): less is not worth changing a setting for. Steps in which the GPU waits
--   for work launched before the capture are left out. With a log of requests beside the trace (request_account): the same of
--   the request of the server's log that is slowest per token, of those that the capture has as a whole first. No saving is
--   claimed: the prompts have to be computed.
-- try: Chunked prefill, or smaller chunks; or separate GPUs for prompts (disaggregated prefill).
-- references: https://docs.vllm.ai/en/stable/configuration/optimization/
--   https://docs.vllm.ai/en/stable/features/disagg_prefill/
-- remark: {% if facts.stalls >= least_stalls and facts.waited_share >= least_share -%} Decoding requests spend {{
--   percent(facts.waited_share) }} of their time waiting for prompts of others, {{ time(facts.waited_ns) }} in {{
--   plural(facts.stalls, 'wait') }}: {% if facts.cause == 'prefill' -%} prompt-only steps run before their next token {%- else
--   %}their step also computes prompts{% endif %}, which adds {{ time(facts.median_ns) }} in the median, {{
--   time(facts.longest_ns) }} at worst (step {{ facts.longest_step }}){% if facts.decode_ns %}; a step that only decodes takes
--   {{ time(facts.decode_ns) }}{% endif %}. Up to {{ plural(facts.most_waiting, 'request') }} wait at a time. {% if
--   facts.slowest_share -%} The logged request that is slowest per token (number {{ facts.slowest_request }}) spent {{
--   percent(facts.slowest_share) }} of its time after the first token so{% if facts.slowest_tpot_ns %}: {{
--   time(facts.slowest_tpot_ns) }} a token, without these waits {{ time(facts.slowest_tpot_ns * (1 - facts.slowest_share)) }} {%-
--   else %}, in the captured steps{% endif %}. {% endif -%} This costs time per token, not throughput, because the GPU computes
--   prompts in that time. {%- endif %}
-- fix: {% if facts.cause == 'prefill' %}{{ remedy('chunked_prefill') }} Prompts are then computed in parts, along with next
--   tokens. {%- else %}{{ remedy('smaller_prefill') }} A step then computes less of a prompt. {%- endif %} First tokens then
--   come later, and fewer prompts are computed per second: `traceq tradeoff --batched-tokens` predicts by how much. Or compute prompts on separate GPUs {%- if facts.dialect == 'vllm'
--   %} (--kv-transfer-config) {%- elif facts.dialect == 'sglang' %} (--disaggregation-mode prefill, and decode) {%- endif %}:
--   then no token waits for a prompt, but the KV cache has to be sent.
-- key: {{ facts.cause }}
-- each: row
-- needs: several_steps
-- absent: {% if not ask('serving_told') %}no step belongs to a server{% endif %}
-- unknown: {% set told = ask('serving_told') %}{% if told and not told[0].steps_told %}the annotations do not say how many
--   requests are decoding{% endif %}
-- threshold: least_stalls = 3: twice may be chance
-- threshold: least_share = 0.1: as with other knobs, less is not worth turning one
-- remarks: yes
-- only-with: serving_mark: trace_id = $trace_id
with
placed as (select step, row_number() over (order by ts) as place from step where trace_id = $trace_id),

-- the GPU still computes what was launched before the capture
late as (
    select distinct g.step
    from idle_gap as g
    inner join idle_gap_cause as c using (trace_id, gap_id)
    where g.trace_id = $trace_id and g.step is not null and c.cause = 'idle_earlier_work'
),

stall as (
    select s.*
    from serving_stall as s
    inner join placed as p using (step)
    where
        s.trace_id = $trace_id
        and s.excluded is null
        and not exists (
            from placed as l
            where
                l.step in (from late)
                and l.place between p.place - if(s.cause = 'prefill', s.prefill_steps, 0) and p.place
        )
),

decoding as (
    select any_value(dialect) as dialect, sum(dur) as dur, median(dur) filter (kind = 'decode') as decode_ns
    from serving_step
    where trace_id = $trace_id and excluded is null and decode_requests > 0 and step not in (from late)
),

main_log as (
    select log_id from request_log where trace_id = $trace_id order by shift is null, side = 'client', log_id limit 1
),

-- what prompts cost it by either cause
slowest as (
    select
        a.request_number,
        a.prefill_delay / (a.decode + a.decode_beside_prefill) as share,
        if(a.is_whole, r.tpot, null) as tpot
    from request_account as a
    inner join request as r using (trace_id, request_number)
    where
        a.trace_id = $trace_id
        and r.log_id = (from main_log)
        and r.status = 'ok'
        and r.tpot is not null
        and a.decode + a.decode_beside_prefill > 0
    order by a.is_whole desc, r.tpot desc, a.request_number
    limit 1
),

-- it is told once
main_cause as (select cause from stall group by cause order by sum(dur) desc, cause limit 1)

select
    s.cause,
    count(*) as stalls,
    sum(s.dur)::bigint as waited_ns,
    sum(s.dur) / (d.dur + (select coalesce(sum(dur), 0) from stall where cause = 'prefill')) as waited_share,
    median(s.dur) as median_ns,
    max(s.dur) as longest_ns,
    max_by(s.step, (s.dur, -s.step)) as longest_step,
    max(s.waiting_requests) as most_waiting,
    d.decode_ns,
    d.dialect,
    w.request_number as slowest_request,
    w.share as slowest_share,
    w.tpot as slowest_tpot_ns
from stall as s
cross join decoding as d
left join slowest as w on s.cause = (from main_cause)
group by s.cause, d.dur, d.decode_ns, d.dialect, w.request_number, w.share, w.tpot
order by s.cause
