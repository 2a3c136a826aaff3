-- The training thread's time in operators on tensors of float64, in a trace without GPU work.
-- title: Operators compute in float64
-- finds: Operators on tensors of double precision, in traces without GPU activity.
-- matters: Half the bytes and twice as many numbers in an instruction: float32 takes half of the time, where precision allows it.
-- measured: Own time of the training thread (host_time) in operators whose first input is a tensor of type double. Of each, what is beyond 10 us,
--   which is calling it, goes by shares: low 0.25, likely 0.5 (half the bytes, twice as many numbers an instruction), high 0.75 (what then
--   fits a cache).
-- try: float32 for model and data; dtype=np.float32 where arrays are made.
-- references: https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch-dtype
--   https://docs.pytorch.org/docs/stable/generated/torch.set_default_dtype.html
-- heading: Compute in float32: {{ percent(claimed_share) }} of {% if subject.is_window %}the window{% else %}a step{% endif %} is operators in
--   float64
-- fix: Convert model and data once: `model.float()`, `torch.from_numpy(array.astype("float32"))`. NumPy makes float64 unless it is told
--   otherwise. Most of it is {{ names(pieces) }}.
-- confidence: medium
-- reason: The types of the operators' tensors are in the trace; whether the program needs the precision is not.
-- wrong-if: The results need double precision.
-- for: pytorch
-- needs: steps, host_alone, types
-- low: 0.25
-- likely: 0.5
-- high: 0.75
-- threshold: calling = 10000: an operator of PyTorch takes the host 5 to 20 us before it computes anything
-- uses: host_time
-- only-with: cpu_slice: kind = 'op' and contains(args, '"double"')
select
    p.step, p.ts, p.dur, p.name, p.slice_id, p.dur as claimed, p.category as cause, p.piece_id as gap_id,
    greatest(p.dur - $calling, 0) / p.dur as goes_low,
    greatest(p.dur - $calling, 0) / p.dur as goes,
    greatest(p.dur - $calling, 0) / p.dur as goes_high
from host_time as p
inner join cpu_slice as c on c.trace_id = $trace_id and c.slice_id = p.slice_id
where p.category = 'operator' and c.kind = 'op' and regexp_matches(c.args, '"Input type":\s*\["double"')
    -- numbers of Python are tensors of double without dimensions
    and regexp_matches(c.args, '"Input Dims":\s*\[\[\d')
