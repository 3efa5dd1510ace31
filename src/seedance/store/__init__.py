"""The only room that knows ClickHouse: engine, schema, reads, writes and the write-ahead log.

Belongs here: SQL (all of it under `sql/`), the mapping of facts to columns, the log in front of
the samples. May not be here: arithmetic that users pay by, knowledge of doors, clocks.
"""
