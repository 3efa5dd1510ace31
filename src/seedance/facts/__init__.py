"""Values that travel between rooms: windows, money, objects, samples, prices, cost rows, errors.

Belongs here: frozen dataclasses, enumerations, small pure functions on one value, and the
exception tree. May not be here: I/O, clocks, frameworks, anything that knows where a value
came from or goes to.
"""
