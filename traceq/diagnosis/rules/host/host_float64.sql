-- The training thread's time in operators on tensors of float64, in a trace without GPU work.
-- title: Operators compute in float64
-- finds: Operators on tensors of double precision, in traces without GPU activity.
-- matters: float32 has half the bytes and fits twice as many numbers in an instruction, so it takes half the time where its
--   precision is enough.
-- measured: Own time of the training thread (host_time) in operators whose first input is a tensor of type double. The first 10
--   us of each are the call itself; shares of the rest: low 0.25, likely 0.5 (half the bytes, twice as many numbers per
--   instruction), high 0.75 (the data then fits a cache).
-- try: float32 for model and data; dtype=np.float32 where arrays are created.
-- references: https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch-dtype
--   https://docs.pytorch.org/docs/stable/generated/torch.set_default_dtype.html
-- heading: Compute in float32: {{ percent(claimed_share) }} of {% if subject.is_window %}the window{% else %}a step{% endif %}
--   is spent in float64 operators
-- fix: Convert model and data once: `model.float()`, `torch.from_numpy(array.astype("float32"))`. NumPy uses float64 by
--   default. Most of the time is in {{ names(pieces) }}.
-- confidence: medium
-- reason: The types of the tensors are in the trace; whether the program needs the precision is not.
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
