"""Usage times price: minutes, charges, prices, owners and the rows they become.

Belongs here: the arithmetic that users pay by, specified in `docs/explain/cost-arithmetic.md`
before it is coded. May not be here: I/O, clocks, SQL, frameworks. Values in, values out.
"""
