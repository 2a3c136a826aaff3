-- What all-to-alls exchange, by collective_role.sql.
select unnest(['experts', 'embeddings', 'sequence', 'unknown']) as kind
