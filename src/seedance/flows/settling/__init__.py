"""How hours become money: which are due, their use, their rows, what an edit marks.

Belongs here: the order of reading, computing and writing a settle. May not be here: the arithmetic
(`costs`), SQL (`store`).
"""
