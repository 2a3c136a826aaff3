-- Copies from one GPU to another by pair and size, the most bytes first, against their link and against other pairs.
select
    src_device,
    dst_device,
    size_class,
    copies,
    bytes,
    dur as dur_ns,
    bandwidth as gb_per_s,
    best_bandwidth as best_gb_per_s,
    link,
    link_bandwidth as link_gb_per_s,
    other_bandwidth as other_gb_per_s,
    is_slow
from peer_copy_link
where trace_id = $trace_id
order by is_slow desc, bytes desc, src_device, dst_device, size_class
limit $top
