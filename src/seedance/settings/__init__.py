"""How a process runs: read once at the start, passed on as an argument, never global.

Belongs here: the fields with their documentation (`fields`), and where values come from (`load`).
May not be here: defaults of other rooms' inner workings, anything that a person does not set.
"""
