"""`seedancectl`, the light client: HTTP, manifests and tables.

Belongs here: commands, options, output formats, exit codes. May not be here: anything that pulls
a server library; it starts in a fraction of a second.
"""
