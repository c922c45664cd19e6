"""`make load`: the service under HTTP load, compared with the barest endpoint that is durable.

`students` fills a course and writes its requests, `barest` is the endpoint to compare with,
`processes` starts servers and reads what they cost, `generators` sends, `layers` says where the
time goes, `report` puts runs together. Everything listens and sends on loopback only.
"""
