-- Fetches of input that training waits for, those that run ahead, and the steps of which it is known what they cost.
select
    (select count(*) from data_fetch where trace_id = $trace_id and is_training) as fetches,
    (select count(*) from data_fetch where trace_id = $trace_id and not is_training) as fetches_ahead,
    count(data_wait) as steps_with_data_wait,
    count(input_copy) as steps_with_input_copy
from data_stall
where trace_id = $trace_id
