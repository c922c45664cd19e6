"""What operators see: logs, metrics, health; and work in the background."""
