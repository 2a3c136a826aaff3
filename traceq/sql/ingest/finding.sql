insert into finding
values (
    $trace_id, $finding_id, $rule, $title, $rank_order, $saving, $saving_low, $saving_high, $confidence, $device, $step_share,
    $fix, $query
)
