"""Processes that train one run together: launch, connection, failure detection."""
