"""The door for HTTP: receiver, JSON API, pages, tokens.

Belongs here: translation between HTTP and flows. May not be here: arithmetic, SQL, knowledge of
Kubernetes.
"""
