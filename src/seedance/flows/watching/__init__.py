"""How a cluster is watched: list and watch, versions, ends nobody saw, kubelets.

Belongs here: the way of an object or a kubelet's answer into the store. May not be here: what an
object's fields mean (`intake`), what it costs (`costs`).
"""
