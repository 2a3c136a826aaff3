-- What monitors said of the critical device and of the host, each sample with the time that it stands for.
select *
from monitor_sample
where trace_id = $trace_id and (device = $device or device is null)
