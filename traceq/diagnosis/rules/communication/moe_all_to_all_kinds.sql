-- What all-to-alls exchange, as collective_role.sql tells it.
select unnest(['experts', 'embeddings', 'sequence', 'unknown']) as kind
