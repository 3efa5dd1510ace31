"""Bytes to facts, one file a source: remote write, Kubernetes objects, kubelet metrics.

Belongs here: decoding, validation and normalisation of what arrives. May not be here: prices,
SQL, decisions on what a fact is worth.
"""
