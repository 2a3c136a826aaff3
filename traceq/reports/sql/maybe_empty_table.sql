-- Tables of this database for which the catalogue counts no row, of any trace: rows of an open transaction do not count. Where a view
-- stands for a table, as in a dataset, it may have rows.
select table_name
from duckdb_tables()
where database_name = current_database() and schema_name = 'main' and estimated_size = 0
