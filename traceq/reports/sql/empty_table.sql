-- Tables of this database without a row, of any trace. Where a view stands for a table, as in a dataset, it may have rows.
select table_name
from duckdb_tables()
where database_name = current_database() and schema_name = 'main' and estimated_size = 0
