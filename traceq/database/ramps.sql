-- Claims near a threshold: nothing at the threshold, the whole from a fifth beyond it on. No threshold is known to a fifth, and a
-- cause that is 1 % larger must not make a saving jump (decision 0030).
create or replace macro _above(value, threshold) as greatest(0, least(1, 5 * (value / threshold - 1)));

create or replace macro _below(value, threshold) as greatest(0, least(1, 5 * (1 - value / threshold)));
