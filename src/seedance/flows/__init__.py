"""The order of things, a room for each journey: recording, watching, settling, reporting.

Belongs here: recipes that lead values from one room to the next. May not be here: arithmetic,
SQL, parsing, HTTP. Flows take `now` as an argument, so history, demo and tests run alike.
"""
