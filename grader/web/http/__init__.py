"""What surrounds a route: middleware, strict bodies, headers, rate limits, uvicorn's deadlines."""
