"""Seedance: know and govern what Kubernetes and GPU training cost."""
