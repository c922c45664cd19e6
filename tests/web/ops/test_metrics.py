"""Metrics: every app counts for itself."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from grader.web.ops.metrics import count_request, open_metrics, render_metrics


def test_two_apps_do_not_share_their_counts() -> None:
    first, second = open_metrics(), open_metrics()
    first.attempts.labels("met").inc()

    assert 'outcome="met"' in render_metrics(first).decode()
    assert 'outcome="met"' not in render_metrics(second).decode()


def test_what_is_rendered_can_be_read_by_prometheus() -> None:
    metrics = open_metrics()
    count_request(metrics, route="/a/{b}", method="GET", status=200, seconds=0.2)
    metrics.writer_queue.set(3)
    metrics.writer_group_size.observe(17)
    metrics.refused_answers.labels("answer.shape").inc()

    families = {f.name: f for f in text_string_to_metric_families(render_metrics(metrics).decode())}
    assert families["keyset_writer_queue"].samples[0].value == 3
    assert families["keyset_requests"].samples[0].labels["route"] == "/a/{b}"
    assert "keyset_request_seconds" in families
    assert "keyset_refused_answers" in families
