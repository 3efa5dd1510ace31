"""How questions are answered: costs, lists, descriptions, status; one answer for every door.

Belongs here: the shapes of answers and what is put into them. May not be here: aggregation (SQL in
`store`), HTML and HTTP (`web`), tables of the command line (`cli`).
"""
