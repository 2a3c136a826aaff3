-- What decoding requests wait for prompts, by how: steps of prompts only between theirs, or prompts in the same step.
-- title: Prefill delays decoding requests
-- finds: Steps of prompts only that run between two steps that decode, and steps that compute prompts beside next tokens
--   and take longer for it than decode steps of their size.
-- matters: Every request that decodes waits that much longer for its next token: it is the tail of the time per token.
--   The GPU computes prompts meanwhile, so that nothing of its throughput is lost.
-- measured: serving_stall in the counted steps: the time of the steps of prompts only, or what a step of both takes beyond the
--   median decode step with as many decoding requests. At least three times, and 10 % of the time in which decoding
--   requests are served (steps that decode, and these): as with other knobs, less is not worth turning one. Steps in
--   which the GPU waits for work launched before the capture are left out. No saving is claimed: the prompts have to
--   be computed.
-- try: Chunked prefill, or smaller chunks; or GPUs of their own for prompts (disaggregated prefill).
-- references: https://docs.vllm.ai/en/stable/configuration/optimization/
--   https://docs.vllm.ai/en/stable/features/disagg_prefill/
-- remark: {% if facts.stalls >= least_stalls and facts.waited_share >= least_share -%}
--   {{ percent(facts.waited_share) }} of the time in which requests decode they wait for prompts of others,
--   {{ time(facts.waited_ns) }} in {{ plural(facts.stalls, 'time') }}: {% if facts.cause == 'prefill' -%}
--   steps of prompts only run before their next token
--   {%- else %}their step computes prompts as well{% endif %}, {{ time(facts.median_ns) }} longer in the median,
--   {{ time(facts.longest_ns) }} at worst (step {{ facts.longest_step }}){% if facts.decode_ns %}, where a step that only
--   decodes takes {{ time(facts.decode_ns) }}{% endif %}. Up to {{ plural(facts.most_waiting, 'request') }} wait at a time.
--   It is time per token, not throughput: the GPU computes prompts meanwhile.
--   {%- endif %}
-- fix: {% if facts.cause == 'prefill' %}{{ remedy('chunked_prefill') }} Prompts are then computed in parts beside
--   next tokens. {%- else %}{{ remedy('smaller_prefill') }} A step then computes less of a prompt. {%- endif %} First
--   tokens then come later, and prompts per second get fewer. Or compute prompts on GPUs of their own {%- if
--   facts.dialect == 'vllm' %} (--kv-transfer-config) {%- elif facts.dialect == 'sglang' %} (--disaggregation-mode
--   prefill, and decode) {%- endif %}: tokens then wait for no prompt, and the KV cache has to be sent.
-- key: {{ facts.cause }}
-- each: row
-- needs: several_steps
-- absent: {% if not ask('serving_told') %}no step is one of a server{% endif %}
-- unknown: {% set told = ask('serving_told') %}{% if told and not told[0].steps_told %}the annotations do not say how many
--   requests decode{% endif %}
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
)

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
    d.dialect
from stall as s
cross join decoding as d
group by s.cause, d.dur, d.decode_ns, d.dialect
order by s.cause
