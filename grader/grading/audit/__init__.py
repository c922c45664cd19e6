"""Audit: the store verifies itself, with one module for each kind of thing that is checked.

Other packages import `verify`, with `ChainHead` from `chain`, `AuditCheckResult` from `findings`
and `RejudgeSample` from `rejudging`; `attempts.inspect` also uses `PublicKeys` from `judgements`.
"""
