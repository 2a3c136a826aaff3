-- Claims near a threshold: nothing at the threshold, the whole from a fifth beyond it on. No threshold is known to a fifth, and a
-- cause that is 1 % larger must not make a saving jump (decision 0030). Nothing, too, where a number is not known.
create or replace macro _above(value, threshold) as
case when value > threshold and not isnan(value::double) then least(1, 5 * (value / threshold - 1)) else 0 end;

create or replace macro _below(value, threshold) as
case when value < threshold then least(1, 5 * (1 - value / threshold)) else 0 end;
