"""The real parts that end-to-end tests stand on, each started and stopped by one class.

Belongs here: where the built programs lie (`parts`), how they are started (`processes`,
`network`, `certificates`, `control_plane`, `kwok`, `prometheus`), how a test talks to them
(`api`, `recorder`) and how the product is started beside them (`product`). May not be here:
anything the product computes; expectations live beside the tests (`oracle.py`, `world.py`).
"""
