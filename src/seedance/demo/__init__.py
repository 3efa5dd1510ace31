"""The demo: the real server on a throw-away store, fed with a believable company.

Belongs here: the company (`company`), its history as Kubernetes would tell it (`plan`, `place`,
`kube`, `world`), what its containers use (`loads`), the sender that Prometheus would be
(`payload`, `sender`), the order of the play (`play`) and what it prints (`told`). May not be here:
a way into the product that users do not have. Samples go over HTTP, objects through the inventory
flow, prices and owners are manifest files; nothing is written to the store from here.

The same `now` gives the same company: chance is a hash of names (`dice`), not a generator.
"""
