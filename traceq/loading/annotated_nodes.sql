-- Annotations by graph node (_annotated_node) and collectives among them (_annotated_collective, by node in slice_id), onto the
-- staged work that these nodes ran.
update staging.gpu_slice
set args = json_merge_patch(coalesce(staging.gpu_slice.args, '{}'), n.args)::varchar
from _annotated_node as n
where n.graph_node_id = staging.gpu_slice.graph_node_id;

insert into staging.collective by name
select c.* replace (g.slice_id as slice_id)
from staging.gpu_slice as g
inner join _annotated_collective as c on c.slice_id = g.graph_node_id
where
    regexp_matches(g.name, $communicates)
    and g.slice_id not in (select slice_id from staging.collective);
