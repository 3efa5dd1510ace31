"""How samples are taken and kept: judge, number, log, flush, replay.

Belongs here: the way of a sample from an accepted body to the store, exactly once. May not be
here: decoding (`intake`), the log's format and SQL (`store`), HTTP (`web`).
"""
