"""`make torture`: the promises about grades, tried by real processes that die in their work.

Every campaign is a module: `kills`, `database_kills`, `system_calls`, `limit`, `verdicts`. `stores`
has a course, what was acknowledged and the audit of both, `traffic` sends answers on `connections`,
and `results` says what came of a campaign. Everything listens and sends on loopback only.
"""
