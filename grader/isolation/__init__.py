"""The border between trusted code and submitted code: wire format, sandbox, processes and proxies."""
