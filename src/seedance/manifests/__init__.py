"""What people write: PriceBook and OwnershipRules, validated with file, line and path.

Belongs here: models of manifests, their loading and their checks. May not be here: reading a
cluster or a store, applying prices to usage.
"""
