"""Datasets: the traces of many ranks as a folder of Parquet files, here or in an object store."""
