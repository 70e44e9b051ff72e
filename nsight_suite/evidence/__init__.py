"""The evidence of a run: one Parquet file per table, and DuckDB views over them."""
